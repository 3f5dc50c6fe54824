"""`lastro hold`: every verb, for people and for machines."""

from __future__ import annotations

import pytest

from lastro import Ledger
from tests.cli.conftest import Run

PLACE = (
    "hold", "place", "--account", "guest", "--currency", "BRL", "--owner", "hotel", "--expires-at", "2100-01-01T00:00:00Z",
)  # fmt: skip


@pytest.fixture
def guest(ledger: Ledger) -> Ledger:
    """An account with 100.00 BRL on it, and a hotel."""
    ledger.open_account("guest", "BRL")
    ledger.open_account("hotel", "BRL", keeping="hot")
    ledger.post(key="fund", kind="fund", debit="world", credit="guest", amount=10_000, currency="BRL")
    return ledger


def test_a_hold_from_its_placing_to_its_end(guest: Ledger, run: Run) -> None:
    """Place, replay, capture a part and keep the rest, list, capture the rest, show."""
    placed = run(*PLACE, "--key", "stay:1", "--amount", "30.00").out.splitlines()
    assert placed[0].split("\t")[:6] == ["outcome", "hold", "account", "currency", "amount", "left"]
    assert placed[1].split("\t")[:7] == ["created", "stay:1", "guest", "BRL", "30.00", "30.00", "open"]
    again = run(*PLACE, "--key", "stay:1", "--minor", "3000", "--json").json()
    assert (again["replayed"], again["hold"]["amount"], again["hold"]["left"]) == (True, "3000", "3000")
    capture = ("hold", "capture", "stay:1", "--credit", "hotel", "--kind", "stay")
    part = run(*capture, "--key", "night:1", "--amount", "12.50", "--keep-rest", "--json").json()
    assert (part["transfer"]["amount"], part["released"], part["hold"]["left"]) == ("1250", "0", "1750")
    assert guest.balance("guest", "BRL")[2:] == (8_750, 1_750, 7_000)
    listed = run("hold", "list", "guest", "BRL", "--json").json()
    assert ([hold["key"] for hold in listed["holds"]], listed["next"]) == (["stay:1"], None)
    rest = run(*capture, "--key", "night:2", "--minor", "1000").out.splitlines()[1].split("\t")
    assert rest[:4] == ["created", "10.00", "7.50", "stay:1"]
    shown = run("hold", "show", "stay:1").out.splitlines()
    assert [line.split("\t")[0] for line in shown] == ["step", "placed", "captured", "captured", "released"]
    assert [line.split("\t")[2:5] for line in shown[2:]] == [
        ["12.50", "17.50", "night:1"],
        ["10.00", "7.50", "night:2"],
        ["7.50", "0.00", ""],
    ]
    document = run("hold", "show", "stay:1", "--json").json()
    assert (document["state"], document["captured"], document["released"]) == ("captured", "2250", "750")
    assert [event["kind"] for event in document["events"]] == ["captured", "captured", "released"]
    late = run(*capture, "--key", "late", "--json")
    assert late.code == 1
    assert late.error()["code"] == "hold_closed"
    assert late.error()["details"]["captured_by"] == "night:2"


def test_a_hold_is_released(guest: Ledger, run: Run) -> None:
    """A part, then the rest; the same key does it once."""
    run(*PLACE, "--key", "h", "--amount", "30.00", "--cause", "booking:1")
    part = run("hold", "release", "h", "--key", "r", "--amount", "10.00").out.splitlines()[1].split("\t")
    assert part[:3] == ["created", "10.00", "h"]
    assert run("hold", "release", "h", "--key", "r", "--amount", "10.00", "--json").json()["replayed"]
    rest = run("hold", "release", "h", "--key", "r2", "--json").json()
    assert (rest["amount"], rest["hold"]["state"]) == ("2000", "released")
    assert guest.balance("guest", "BRL").held == 0


def test_holds_past_their_deadline(guest: Ledger, run: Run) -> None:
    """Nothing is due: nothing expires, nothing is overdue; the figures come as they are."""
    run(*PLACE, "--key", "h", "--amount", "1.00", "--overdue", "list", "--group", "g", "--capture-max-minor", "150")
    assert guest.hold("h").capture_max == 150
    assert run("hold", "expire").out == "holds\tbatches\tblocked\n0\t0\t0\n"
    assert run("hold", "expire", "--json").json() == {"holds": 0, "batches": 0, "blocked": 0, "full": False}
    assert run("hold", "list", "--overdue", "--owner", "hotel", "--json").json() == {"holds": [], "next": None}


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("hold", "list"), 2),
        (("hold", "list", "guest"), 2),
        (("hold", "list", "guest", "BRL", "--overdue"), 2),
        (("hold", "list", "guest", "BRL", "--owner", "hotel"), 2),
        ((*PLACE, "--key", "h"), 2),
        ((*PLACE, "--key", "h", "--amount", "1.00", "--minor", "100"), 2),
        ((*PLACE, "--key", "h", "--amount", "0"), 1),
        ((*PLACE, "--key", "h", "--amount", "100.01"), 1),
        ((*PLACE, "--key", "h", "--amount", "1.00", "--overdue", "later"), 1),
        (("hold", "show", "nothing"), 1),
        (("hold", "release", "nothing", "--key", "r"), 1),
    ],
)
def test_what_is_wrong_is_said(guest: Ledger, run: Run, argv: tuple[str, ...], code: int) -> None:
    """Usage ends with 2, a refusal with 1; nothing is held."""
    assert run(*argv).code == code
    assert guest.balance("guest", "BRL").held == 0
