"""The relay: everything that waits is published, in the order of its key, and only what was acknowledged leaves."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import lastro
from lastro import Ledger, UnknownEvent, telemetry
from lastro.relaying import ACKNOWLEDGED, Outcome, Outgoing, impossible, rejected, unanswered
from lastro.sql.catalogue import catalogue
from tests.relaying.taking import EAGER, Taking, drain, emit, in_order, relay, wear_out
from tests.support.sessions import Background, Observer, Sessions, together

pytestmark = pytest.mark.req("3.13")

PATIENCE_S = 30


def refusing(*event_ids: str, outcome: Outcome | None = None) -> Taking:
    """A target that takes all but these."""
    return Taking(lambda event: (outcome or rejected("HTTP 500")) if event.event_id in event_ids else ACKNOWLEDGED)


def test_what_waits_is_published_in_the_order_of_its_key(ledger: Ledger) -> None:
    """A thousand events of forty keys: each is published once, each key's in their order, and nothing is left."""
    choice = random.Random(3)
    events = [(f"e{number}", f"key {choice.randrange(40)}") for number in range(1_000)]
    emit(ledger, *events)
    target = Taking()
    drain(ledger, target)
    assert in_order(target.taken, events)
    assert len(target.taken) == 1_000
    standing = ledger.outbox.standing()
    assert (standing.waiting, standing.age_ms, standing.published) == (0, None, 1_000)


def test_the_lag_is_an_age(ledger: Ledger) -> None:
    """The age of the oldest event is shown and measured; an empty outbox has none."""
    heard: list[tuple[str, float]] = []
    silence = telemetry.listen(lambda name, value, _: heard.append((name, value)))
    emit(ledger, ("e", "k"))
    assert ledger.outbox.standing().age_ms is not None
    relay(ledger, Taking(lambda _: unanswered("away"))).run_once()
    relay(ledger, Taking()).run_once()
    silence()
    ages = [value for name, value in heard if name == "lastro_outbox_age_ms"]
    assert ages[0] > 0
    assert ages[1] == 0
    assert ("lastro_outbox_published", 1) in heard


@pytest.mark.case("C062")
def test_what_commits_late_is_published(ledger: Ledger, session: Sessions) -> None:
    """An event with a lower number that commits after higher ones were published is published as well."""
    late = session()
    held = ledger.within(late)
    held.outbox.emit([{"event_id": "late", "topic": "t", "ordering_key": "k", "payload": {}}])
    emit(ledger, ("early", "k"), ("other", "x"))
    target = Taking()
    drain(ledger, target)
    assert sorted(target.ids) == ["early", "other"]
    late.commit()
    drain(ledger, target)
    assert target.ids[2:] == ["late"]


@pytest.mark.case("C068")
def test_nothing_is_marked_that_was_not_acknowledged(ledger: Ledger) -> None:
    """Without an answer everything waits as before; when the target is back it goes on by itself, none is lost."""
    events = [(f"e{number}", f"k{number % 7}") for number in range(50)]
    emit(ledger, *events)
    away = Taking(lambda _: unanswered("connection refused"))
    done = relay(ledger, away).run_once()
    assert (done.published, done.left_alone) == (0, "connection refused")
    assert ledger.outbox.standing().waiting == 50

    def broken(_: Outgoing) -> Outcome:
        raise OSError("the client broke")

    assert relay(ledger, Taking(broken)).run_once().left_alone == "OSError: the client broke"
    back = Taking()
    drain(ledger, back)
    assert in_order(back.taken, events)


def test_a_target_that_does_not_answer_is_left_alone_for_a_while(ledger: Ledger) -> None:
    """The pause is in the database, so that every relay keeps to it."""
    emit(ledger, ("e", "k"))
    away = Taking(lambda _: unanswered("away"))
    slow = {"pause_ms": 60_000, "target_pause_max_ms": 60_000}
    relay(ledger, away, **slow).run_once()
    other = Taking()
    assert relay(ledger, other, **slow).run_once().left_alone == "pausing"
    assert (other.taken, len(away.waves)) == ([], 1)


def test_a_poison_event_holds_up_its_key_alone(ledger: Ledger) -> None:
    """It is tried so often, then set aside with its reason; its key waits for a person, every other key goes on."""
    emit(ledger, ("bad", "k"), ("behind 1", "k"), ("fine", "x"))
    target = refusing("bad")
    wear_out(ledger, target, attempts=3)
    emit(ledger, ("behind 2", "k"), ("fine 2", "x"))
    drain(ledger, target, attempts_max=3)
    assert sorted(target.ids) == ["beside 0", "beside 1", "beside 2", "fine", "fine 2"]
    (aside,) = ledger.outbox.set_aside()
    assert (aside.event_id, aside.attempts, aside.reason) == ("bad", 3, "HTTP 500")
    assert [(event.event_id, event.waits_for) for event in ledger.outbox.waiting()] == [
        ("behind 1", "bad"),
        ("behind 2", "bad"),
    ]
    standing = ledger.outbox.standing()
    assert (standing.waiting, standing.keys_waiting, standing.set_aside) == (2, 1, 1)


@pytest.mark.parametrize("how", ["retry", "skip"])
def test_a_person_lets_the_key_go_on(ledger: Ledger, how: str) -> None:
    """Retried, the event comes first and the others follow; skipped, they come without it. Who and why stay on record."""
    emit(ledger, ("bad", "k"), ("behind 1", "k"))
    wear_out(ledger, refusing("bad"), attempts=2)
    emit(ledger, ("behind 2", "k"))
    getattr(ledger.outbox, how)("bad", reason="the receiver was mended", actor="ana")
    target = Taking()
    drain(ledger, target)
    assert target.ids == [*(["bad"] if how == "retry" else []), "behind 1", "behind 2"]
    standing = ledger.outbox.standing()
    assert (standing.waiting, standing.keys_waiting, standing.set_aside) == (0, 0, 0)
    newest, oldest = ledger.outbox.notes()
    assert (newest.action, newest.actor, newest.reason) == (
        {"retry": "retried", "skip": "skipped"}[how],
        "ana",
        "the receiver was mended",
    )
    assert (oldest.action, oldest.about, oldest.reason) == ("set aside", "bad", "HTTP 500")
    with pytest.raises(UnknownEvent):
        getattr(ledger.outbox, how)("bad", reason="again", actor="ana")


def test_the_others_may_go_on_without_it(ledger: Ledger) -> None:
    """With that policy the later events of the key are published once the bad one is aside; a retry comes late."""
    emit(ledger, ("bad", "k"), ("behind", "k"))
    target = refusing("bad")
    wear_out(ledger, target, attempts=2, others_go_on=True)
    drain(ledger, target, others_go_on=True)
    assert sorted(target.ids) == ["behind", "beside 0", "beside 1"]
    assert ledger.outbox.standing().keys_waiting == 0
    emit(ledger, ("waits", "k"))
    with pytest.raises(lastro.InvalidInput, match="its turn"):
        ledger.outbox.retry("waits", reason="mended", actor="ana")
    drain(ledger, target)
    ledger.outbox.retry("bad", reason="mended", actor="ana")
    mended = Taking()
    drain(ledger, mended)
    assert mended.ids == ["bad"]


def test_an_outage_sets_nothing_aside(ledger: Ledger) -> None:
    """While the target takes nothing at all it is the target that fails: events are tried on, however often."""
    emit(ledger, *((f"e{number}", f"k{number}") for number in range(5)))
    down = Taking(lambda _: rejected("HTTP 503"))
    relaying = relay(ledger, down, attempts_max=2)
    for _ in range(6):
        relaying.run_once()
    assert ledger.outbox.standing().set_aside == 0
    drain(ledger, back := Taking(), attempts_max=2)
    assert len(back.ids) == 5


def test_what_can_never_be_taken_is_set_aside_alone(ledger: Ledger) -> None:
    """An event that is impossible as it is doesn't wait for others to prove it."""
    emit(ledger, ("huge", "k"))
    relaying = relay(ledger, refusing("huge", outcome=impossible("too large")), attempts_max=2)
    assert [relaying.run_once().set_aside for _ in range(2)] == [0, 1]
    assert [event.reason for event in ledger.outbox.set_aside()] == ["too large"]


def test_a_target_is_switched_off_and_on_by_hand(ledger: Ledger) -> None:
    """After so many failures in a row it is left alone, with its reason, until a person switches it on."""
    emit(ledger, ("e", "k"))
    relaying = relay(ledger, Taking(lambda _: unanswered("HTTP 410"), failures_max=3))
    assert [relaying.run_once().left_alone for _ in range(4)] == [*["HTTP 410"] * 3, "switched off: HTTP 410"]
    (target,) = ledger.outbox.standing().targets
    assert (target.disabled_at is not None, target.failures, target.reason) == (True, 3, "HTTP 410")
    assert relay(ledger, Taking()).run_once().published == 0
    with pytest.raises(lastro.InvalidInput, match="taking"):
        ledger.outbox.enable("no such target", reason="why", actor="ana")
    ledger.outbox.enable("taking", reason="its owner called", actor="ana")
    assert relay(ledger, Taking()).run_once().published == 1
    assert [note.action for note in ledger.outbox.notes()] == ["enabled", "disabled"]


@pytest.mark.case("C064")
def test_a_relay_that_slept_past_its_lease_records_nothing(ledger: Ledger) -> None:
    """Another takes the lane over; the first one's late recording is refused, and order per key holds for who receives."""
    events = [(f"e{number}", "k") for number in range(4)]
    emit(ledger, *events)
    asleep, wake = threading.Event(), threading.Event()
    received = Taking()

    def slow(event: Outgoing) -> Outcome:
        if event.event_id == "e1":
            asleep.set()
            assert wake.wait(PATIENCE_S)
        return ACKNOWLEDGED

    sleeper = Taking(slow)
    sleeper.taken = received.taken
    # Its lease is over as soon as it begins.
    sleeping = relay(ledger, sleeper, lease_ms=1, publish_timeout_ms=0)
    sleeping._publish_timeout_ms = -1_000_000
    going = Background(sleeping.run_once)
    assert asleep.wait(PATIENCE_S)
    second = relay(ledger, received).run_once()
    assert (second.published, second.lost) == (4, 0)
    wake.set()
    assert going.result().lost == 1
    assert ledger.outbox.standing().published == 4
    assert in_order(received.taken, events)
    assert len(received.taken) > 4


@pytest.mark.case("C065")
def test_a_dead_relays_lane_is_free_again_after_its_lease(ledger: Ledger) -> None:
    """What nobody gave back is claimed once its lease is over, and not before; names are never used twice."""
    emit(ledger, ("e", "k"))
    dead = ledger.outbox.claim("dead", EAGER._replace(lease_ms=60_000))
    assert dead is not None
    assert relay(ledger, Taking()).run_once().published == 0
    ledger.outbox.take(dead, EAGER._replace(lease_ms=0))
    assert relay(ledger, Taking()).run_once().published == 1
    assert relay(ledger, Taking())._holder != relay(ledger, Taking())._holder


def test_relays_at_once_share_the_work_and_keep_the_order(ledger: Ledger, server_url: str, ledger_name: str) -> None:
    """Four relays beside four writers: nothing is lost, nothing comes twice, no key is out of order."""
    target, stop = Taking(), threading.Event()
    written: list[list[tuple[str, str]]] = [[] for _ in range(4)]

    def write(number: int) -> None:
        for batch in range(15):
            events = [(f"w{number}:{batch}:{each}", f"w{number}:{each % 3}") for each in range(10)]
            emit(ledger, *events)
            written[number].extend(events)

    def work() -> None:
        with lastro.connect(server_url, ledger=ledger_name) as own:
            relaying = relay(own, target)
            while not stop.is_set() or own.outbox.standing().waiting:
                relaying.run_once()

    relays = [Background(work) for _ in range(4)]
    together([lambda number=number: write(number) for number in range(4)])  # type: ignore[misc]
    stop.set()
    for each in relays:
        each.result()
    events = [event for mine in written for event in mine]
    assert len(target.taken) == len(events) == 600
    assert in_order(target.taken, events)


def test_a_claim_waits_for_nobody(ledger: Ledger, session: Sessions, observer: Observer) -> None:
    """A lane whose row somebody holds is passed over; nothing is locked while an event is on its way."""
    emit(ledger, ("e", "k"), ("f", "other"))
    holder = session()
    holder.execute(
        f"SELECT FROM {ledger._operations.ledger}.outbox_lane AS lane WHERE lane.lane = ("  # type: ignore[arg-type]
        f"SELECT lane FROM {ledger._operations.ledger}.outbox WHERE event_id = 'e') FOR UPDATE"
    )
    locks = "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation WHERE relname LIKE 'outbox%%' AND pid <> %s"
    seen: list[int] = []

    def look(_: Outgoing) -> Outcome:
        seen.append(observer.value(locks, holder.info.backend_pid))
        return ACKNOWLEDGED

    target = Taking(look)
    relay(ledger, target).run_once()
    assert (target.ids, seen) == (["f"], [0])


@pytest.mark.case("C061")
def test_a_batch_is_bounded_with_poisoned_statistics(ledger: Ledger, connection: psycopg.Connection[Any]) -> None:
    """With statistics of a nearly empty table a claim takes one lane, and a batch no more than its limit."""
    emit(ledger, ("first", "k0"))
    connection.execute("ANALYZE outbox; ANALYZE outbox_lane")
    connection.commit()
    emit(ledger, *((f"e{number}", f"k{number}") for number in range(500)))
    claimed = ledger.outbox.claim("me", EAGER)
    assert claimed is not None
    held = connection.execute("SELECT count(*) FROM outbox_lane WHERE holder IS NOT NULL").fetchone()
    assert held == (1,)
    batch = ledger.outbox.take(claimed, EAGER._replace(events_max=5))
    assert batch is not None
    assert len(batch.events) == 5


@pytest.mark.case("C066")
def test_a_long_transaction_beside_the_relay(ledger: Ledger, session: Sessions) -> None:
    """With a snapshot open that keeps every dead row, the relay publishes all there is, batch after batch."""
    old = session()
    old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    old.execute("SELECT 1")
    target = Taking()
    for number in range(5):
        emit(ledger, *((f"e{number}:{each}", f"k{each % 50}") for each in range(400)))
        drain(ledger, target)
    assert len(target.taken) == 2_000


@pytest.mark.case("C071")
def test_what_waits_for_a_person_is_not_in_the_way(ledger: Ledger, connection: psycopg.Connection[Any]) -> None:
    """Beside 50,000 events of a key that waits, and 20,000 set aside, one that can be published is found at once."""
    emit(ledger, ("bad", "k"))
    drain(ledger, refusing("bad", outcome=impossible("no")), attempts_max=1)
    connection.execute(
        "INSERT INTO outbox (event_id, topic, ordering_key, payload, parked) "
        "SELECT 'w' || n, 't', 'k', '{}', true FROM generate_series(1, 50000) AS n"
    )
    connection.execute(
        "INSERT INTO outbox_set_aside (event_id, id, topic, ordering_key, payload, opened_at, attempts, reason, set_aside_at) "
        "SELECT 's' || n, -n, 't', 'k' || n, '{}', now(), 8, 'no', now() FROM generate_series(1, 20000) AS n"
    )
    connection.execute("ANALYZE outbox")
    connection.commit()
    emit(ledger, ("good", "k2"))
    plan = connection.execute(
        "EXPLAIN (FORMAT JSON, ANALYZE) SELECT id FROM outbox WHERE lane = "
        "(SELECT lane FROM outbox WHERE event_id = 'good') AND NOT parked ORDER BY id LIMIT 200"
    ).fetchone()
    assert plan is not None
    assert "outbox_ready" in str(plan)
    target = Taking()
    drain(ledger, target)
    assert target.ids == ["good"]


@pytest.mark.case("C069")
def test_nobody_is_notified(ledger: Ledger, session: Sessions) -> None:
    """No statement notifies: no commit queues behind a notification, and none can fill a queue up."""
    said = [statement.text for statement in catalogue("postgres").values()]
    assert not [text for text in said if "notify" in text.lower()]
    listener = session(autocommit=True)
    emit(ledger, ("e", "k"))
    relay(ledger, Taking()).run_once()
    assert listener.execute("SELECT pg_notification_queue_usage()").fetchone() == (0,)


@pytest.fixture(autouse=True)
def _no_listener_is_left() -> Iterator[None]:
    before = list(telemetry._listeners)
    yield
    assert telemetry._listeners == before
