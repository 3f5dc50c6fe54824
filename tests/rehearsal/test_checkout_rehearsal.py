"""`rehearse checkout`: arrivals by seed, latency from the intended start, criteria set before, an honest verdict."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

import lastro
from lastro.rehearsal import checkout
from lastro.rehearsal.arrivals import arrival_times_s
from lastro.rehearsal.cast import Line, RehearsalBroken
from lastro.rehearsal.criteria import Criteria, read_criteria
from lastro.rehearsal.load import arrivals_of, drive_open_loop, order_shapes
from lastro.rehearsal.marketplace import Shop
from lastro.rehearsal.stage import OtherLedgersThere, Stage
from lastro.rehearsal.verdict import Measured, judge, percentile

WELL = Measured(
    arrivals=1000,
    completed=1000,
    errors={},
    lost_tries=0,
    intended_per_second=100.0,
    completed_per_second=99.5,
    p50_ms=2.0,
    p95_ms=5.0,
    p99_ms=9.0,
    max_ms=20.0,
    started_late=0,
    waited_for_a_client=0,
    payouts=10,
    debits_refused=2,
    tail_rows=40,
    tail_age_ms=400.0,
    tail_drained_ms=500.0,
    unbalanced=None,
)
LIMITS = Criteria(p99_ms_max=9.0, errors_max=0, tail_age_ms_max=1000.0, tail_drained_ms_max=1000.0)


@pytest.mark.req("0.9")
def test_a_rehearsal_of_checkouts_with_debits_going_on(server_url: str) -> None:
    """
    Checkouts arrive, payouts go on, a consolidator folds: nothing fails, the books balance, and nothing is left.

    No limit on time here: how fast this machine is beside other tests is nobody's promise.
    """
    with psycopg.connect(server_url) as connection:
        names = "SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname ~ '^(rehearsal|marketplace)_'"
        before = connection.execute(names).fetchone()
    said: list[str] = []
    verdict = checkout.run(
        url=server_url, rate=60, seconds=3, burst=20, clients=8, beside_others=True, progress=said.append
    )
    measured = verdict.measured
    expected = len(arrival_times_s(rate=60, seconds=3, burst=20, seed=1))
    assert (measured.arrivals, measured.completed, measured.errors) == (expected, expected, {})
    assert measured.unbalanced is None
    assert measured.payouts > 0
    assert measured.debits_refused > 0
    assert 0 < measured.p50_ms <= measured.p95_ms <= measured.p99_ms <= measured.max_ms
    assert {criterion.name for criterion in verdict.criteria} == {
        "balanced",
        "errors_max",
        "p99_ms_max",
        "tail_age_ms_max",
        "tail_drained_ms_max",
    }
    assert json.loads(json.dumps(verdict.as_dict()))["measured"]["arrivals"] == expected
    assert said[0] == f"{expected} checkouts over 3 s, 8 clients in 2 processes"
    with psycopg.connect(server_url) as connection:
        assert connection.execute(names).fetchone() == before


class NoLine:
    """A line that starts at once, for load within the test's own process."""

    def wait_for_start(self) -> None:
        """Return at once."""


def test_latency_counts_from_the_intended_start(stage: Stage, shop: Shop, till: psycopg.Connection[Any]) -> None:
    """
    Forty checkouts due at one moment and one client: the last waited for all others, and its latency says so.

    A load generator that counts from the actual start would give each of them about the same small latency.
    """
    shapes = order_shapes(seed=1)
    shop.register(till, {item.seller for order in shapes for item in order.items})
    facts = drive_open_loop(cast("Line", NoLine()), stage, arrivals_of([0.0] * 40, shapes), clients=1)
    assert len(facts.latencies_ms) == 40
    # All were due at 0, so each latency is the moment of its end: ever later, and the last one the whole run.
    assert all(sooner < later for sooner, later in pairwise(facts.latencies_ms))
    assert facts.latencies_ms[-1] == pytest.approx(facts.ended_s * 1000)
    assert (facts.waited_for_a_client, facts.started_late) == (40, 0)


def test_a_checkout_that_fails_is_counted_and_isnt_a_latency(
    stage: Stage, shop: Shop, till: psycopg.Connection[Any]
) -> None:
    """An error is counted under its code, the client goes on, and no failed checkout makes the percentiles prettier."""
    shapes = order_shapes(seed=1)
    shop.register(till, {item.seller for order in shapes for item in order.items})
    arrivals = arrivals_of([0.0] * 3, shapes)
    other = arrivals[1].order.items[0]._replace(price=1)
    twice = arrivals[0]._replace(order=arrivals[0].order._replace(items=(other,)))
    facts = drive_open_loop(cast("Line", NoLine()), stage, [*arrivals, twice], clients=1)
    assert facts.errors == {"order_changed": 1}
    assert len(facts.latencies_ms) == 3


def test_a_database_with_other_ledgers_is_refused(server_url: str, ledger: lastro.Ledger) -> None:
    """Load beside somebody's ledger has to be asked for; the refusal names the ledgers."""
    with pytest.raises(OtherLedgersThere, match="holds") as refused:
        checkout.run(url=server_url)
    assert ledger._operations.ledger in refused.value.ledgers


def test_the_report_is_refused_until_it_is_there(tmp_path: Path) -> None:
    """A report that isn't written yet is refused in words, before any load."""
    with pytest.raises(lastro.InvalidInput, match="report"):
        checkout.run(report=tmp_path / "out.html")


@pytest.mark.parametrize(
    "arguments",
    [
        {"rate": 0},
        {"rate": math.nan},
        {"seconds": -1},
        {"burst": -1},
        {"rate": 1e6},
        {"clients": 0},
        {"clients": 1, "processes": 2},
        {"clients": 513},
    ],
)
def test_impossible_loads_are_refused(arguments: dict[str, Any]) -> None:
    """Numbers that make no load, or more than the generator can hold, are refused before anything starts."""
    with pytest.raises(lastro.InvalidInput):
        checkout.run(**arguments)


@pytest.mark.parametrize("with_ledger", [True, False])
def test_the_closed_loop_gives_a_rate(server_url: str, with_ledger: bool) -> None:
    """As fast as it goes, with the ledger and without: a rate above zero, and nothing left behind."""
    rate = checkout.checkout_rate(server_url, clients=3, seconds=1, with_ledger=with_ledger, processes=2, warm_up_s=0.2)
    assert rate > 0


def test_a_closed_loop_with_failures_has_no_rate(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkouts that fail are no throughput: the measurement is broken, and says so."""
    # Without its set-up the tables aren't there.
    monkeypatch.setattr(checkout, "_set_up", lambda *_, **__: None)
    with pytest.raises(RehearsalBroken, match="checkouts failed: 42P01"):
        checkout.checkout_rate(server_url, clients=1, seconds=1, with_ledger=False, warm_up_s=0.1)


def test_arrivals_are_repeatable_and_come_at_their_rate() -> None:
    """The same seed gives the same arrivals; their number is the rate's; the burst comes at one moment, halfway."""
    times_s = arrival_times_s(rate=200, seconds=50, burst=30, seed=8)
    assert times_s == arrival_times_s(rate=200, seconds=50, burst=30, seed=8)
    assert times_s != arrival_times_s(rate=200, seconds=50, burst=30, seed=9)
    assert times_s == sorted(times_s)
    assert times_s.count(25.0) == 30
    assert len(times_s) - 30 == pytest.approx(10_000, rel=0.05)
    # Open: gaps vary as chance has it, and are not a metronome's.
    gaps = [later - sooner for sooner, later in pairwise(times_s)]
    assert max(gaps) > 5 / 200
    assert times_s[-1] < 50


def test_criteria_are_read_from_toml(tmp_path: Path) -> None:
    """A file sets the limits that it names, and no other is judged."""
    path = tmp_path / "criteria.toml"
    path.write_text("[checkout]\np99_ms_max = 25\nerrors_max = 3\n[afterwards]\ntail_age_ms_max = 1500.5\n")
    assert read_criteria(path) == Criteria(p99_ms_max=25, errors_max=3, tail_age_ms_max=1500.5)
    verdict = judge(WELL, read_criteria(path))
    assert [criterion.name for criterion in verdict.criteria] == [
        "balanced",
        "errors_max",
        "p99_ms_max",
        "tail_age_ms_max",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "sets no criterion"),
        ("[checkout]\n", "sets no criterion"),
        ("[checkout]\np99_max = 25\n", "checkout.p99_max is no criterion"),
        ("[afterwards]\np99_ms_max = 25\n", "afterwards.p99_ms_max is no criterion"),
        ("p99_ms_max = 25\n", "p99_ms_max is no criterion"),
        ('[checkout]\np99_ms_max = "25"\n', "must be a number"),
        ("[checkout]\np99_ms_max = true\n", "must be a number"),
        ("[checkout]\np99_ms_max = nan\n", "must be a number"),
        ("[checkout]\np99_ms_max = -1\n", "must be a number"),
        ("[checkout]\nerrors_max = 0.5\n", "must be a whole number"),
        ("[checkout\n", "can't be read"),
    ],
)
def test_criteria_that_say_nothing_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """A criterion misspelt would be one that can't fail: it is refused, as is a file that sets none."""
    path = tmp_path / "criteria.toml"
    path.write_text(text)
    with pytest.raises(lastro.InvalidInput, match=said):
        read_criteria(path)


@pytest.mark.parametrize(
    ("measured", "word", "exit_code", "missed"),
    [
        (WELL, "met", 0, set()),
        (replace(WELL, p99_ms=9.1), "missed", 1, {"p99_ms_max"}),
        (replace(WELL, p99_ms=math.nan), "missed", 1, {"p99_ms_max"}),
        (replace(WELL, errors={"lock_timeout": 1}), "missed", 1, {"errors_max"}),
        (replace(WELL, unbalanced="a cent is missing"), "missed", 1, {"balanced"}),
        (replace(WELL, tail_age_ms=1001.0), "missed", 1, {"tail_age_ms_max"}),
        (replace(WELL, tail_drained_ms=1001.0), "missed", 1, {"tail_drained_ms_max"}),
        (replace(WELL, started_late=11), "inconclusive", 2, set()),
        (replace(WELL, started_late=11, p99_ms=9.1), "inconclusive", 2, {"p99_ms_max"}),
        (replace(WELL, started_late=11, errors={"40001": 1}), "missed", 1, {"errors_max"}),
        (replace(WELL, started_late=10), "met", 0, set()),
    ],
)
def test_the_verdict(measured: Measured, word: str, exit_code: int, missed: set[str]) -> None:
    """Each criterion can be missed; a generator that was late itself makes slowness inconclusive, but no error good."""
    verdict = judge(measured, LIMITS)
    assert (verdict.word, verdict.exit_code, verdict.met) == (word, exit_code, word == "met")
    assert {criterion.name for criterion in verdict.criteria if not criterion.holds} == missed


def test_a_figure_that_there_is_none_of_is_null_in_json() -> None:
    """NaN isn't JSON: where nothing succeeded the percentiles are null."""
    document = judge(replace(WELL, p99_ms=math.nan), LIMITS).as_dict()
    assert document["measured"]["p99_ms"] is None
    json.dumps(document, allow_nan=False)


def test_percentiles_are_by_nearest_rank() -> None:
    """The 99th of a hundred values is the 99th value; of nothing there is none."""
    values = [float(value) for value in range(1, 101)]
    assert [percentile(values, percent) for percent in (50, 99, 100)] == [50.0, 99.0, 100.0]
    assert percentile([7.0], 50) == 7.0
    assert math.isnan(percentile([], 99))


def test_an_audit_sees_a_marketplace_that_disagrees_with_its_ledger(
    stage: Stage, shop: Shop, till: psycopg.Connection[Any]
) -> None:
    """Balanced means more than a ledger in order: a payment without its transfers is found, and an order uncounted."""
    shapes = order_shapes(seed=1)
    shop.register(till, {item.seller for order in shapes for item in order.items})
    drive_open_loop(cast("Line", NoLine()), stage, arrivals_of([0.0] * 5, shapes), clients=1)
    assert checkout._audit(stage, answered=5) is None
    assert "6 checkouts were answered" in (checkout._audit(stage, answered=6) or "")
    shop.books.bump("orders")
    assert "the metric counts 6" in (checkout._audit(stage, answered=5) or "")
    shop.books.bump("orders", -1)
    till.execute(f"UPDATE {stage.marketplace}.payments SET amount = amount + 1")
    assert "the marketplace took" in (checkout._audit(stage, answered=5) or "")
    till.execute(f"UPDATE {stage.marketplace}.payments SET amount = amount - 1")
    till.execute(f"UPDATE {stage.ledger}.base SET amount = amount + 1 WHERE keeping = 'direct'")
    assert "not in order" in (checkout._audit(stage, answered=5) or "")
