"""`lastro kinds` and `lastro periods`: every verb, for people and for machines."""

from __future__ import annotations

import pytest

from lastro import PREPAID, Ledger
from tests.cli.conftest import Run

CLOSE = ("periods", "close", "--until", "2025-11-01T00:00:00Z", "--actor", "accounting", "--reason", "month end")
REOPEN = (
    "periods",
    "reopen",
    "--since",
    "2025-10-01T00:00:00Z",
    "--key",
    "audit:7",
    "--reason",
    "late",
    "--actor",
    "ana",
)


def test_kinds_are_registered_and_listed(ledger: Ledger, run: Run) -> None:
    """One kind, the ready set, again on equal terms; then a posting on the wrong side is refused with its code."""
    fee = ("kinds", "register", "fee", "--debit", "shop*", "--credit", "bank", "--undone-by", "waiver")
    assert run(*fee).out.splitlines() == [
        "outcome\tkind\tdebit\tcredit\teither way\tundone by",
        "registered\tfee\tshop*\tbank\tno\twaiver",
    ]
    assert run(*fee, "--json").json()["registered"] == []
    assert len(run("kinds", "register", "--prepaid", "--json").json()["registered"]) == len(PREPAID)
    listed = run("kinds", "list", "--json").json()["kinds"]
    assert len(listed) == len(PREPAID) + 1
    assert {"name": "fee", "debit": "shop*", "credit": "bank", "either_way": False, "undone_by": "waiver"} in listed
    assert "adjustment\t*\tworld\tyes\tadjustment" in run("kinds", "list").out.splitlines()
    for name in ("shop", "bank"):
        ledger.open_account(name, "BRL", floor=None)
    post = ("post", "--key", "k", "--kind", "fee", "--currency", "BRL", "--minor", "5")
    refused = run(*post, "--debit", "bank", "--credit", "shop", "--json")
    assert (refused.code, refused.error()["code"]) == (1, "kind_not_allowed")
    assert run(*post, "--debit", "shop", "--credit", "bank").code == 0
    changed = run("kinds", "register", "fee", "--json")
    assert (changed.code, changed.error()["code"]) == (1, "kind_conflict")


def test_a_period_is_closed_and_reopened(ledger: Ledger, run: Run) -> None:
    """Close, close again, reopen under a key, reopen again, list."""
    ledger.open_account("shop", "BRL")
    assert run("periods", "list", "--json").json() == {"closings": []}
    closed = run(*CLOSE, "--json").json()
    assert (closed["closed_until"], closed["reopens"], closed["actor"]) == (
        "2025-11-01T00:00:00+00:00",
        False,
        "accounting",
    )
    assert run(*CLOSE, "--json").json() == closed
    post = (
        "post",
        "--key",
        "k",
        "--kind",
        "pay",
        "--debit",
        "world",
        "--credit",
        "shop",
        "--currency",
        "BRL",
        "--minor",
        "5",
    )
    late = (*post, "--occurred-at", "2025-10-31T12:00:00Z", "--json")
    assert run(*late).error()["code"] == "period_closed"
    reopened = run(*REOPEN, "--json").json()
    assert (reopened["closed_until"], reopened["reopens"], reopened["key"]) == (
        "2025-10-01T00:00:00+00:00",
        True,
        "audit:7",
    )
    assert run(*REOPEN, "--json").json() == reopened
    assert run(*late).code == 0
    lines = run("periods", "list", "--limit", "5").out.splitlines()
    assert [line.split("\t")[:4] for line in lines] == [
        ["closed until", "reopened", "reason", "actor"],
        ["2025-10-01T00:00:00+00:00", "yes", "late", "ana"],
        ["2025-11-01T00:00:00+00:00", "no", "month end", "accounting"],
    ]


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("kinds", "register"), 2),
        (("kinds", "register", "fee", "--prepaid"), 2),
        (("kinds", "register", "--prepaid", "--either-way"), 2),
        (("kinds", "register", "a kind of many letters"), 1),
        (("periods", "close"), 2),
        (("periods", "close", "--until", "yesterday"), 1),
        (("periods", "close", "--until", "2025-11-01"), 1),
        (("periods", "close", "--until", "2100-01-01T00:00:00Z"), 1),
        (REOPEN, 1),
        (REOPEN[:-2], 2),
    ],
)
def test_what_is_wrong_is_said(ledger: Ledger, run: Run, argv: tuple[str, ...], code: int) -> None:
    """Usage ends with 2, a refusal with 1; nothing is registered or closed."""
    assert run(*argv).code == code
    assert (ledger.kinds(), ledger.period_closings()) == ([], [])
