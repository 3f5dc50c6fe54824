"""Each command does what it says, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from lastro import Ledger
from lastro.cli.arguments import amount_of
from lastro.model.limits import PARTITIONS_AHEAD
from tests.cli.conftest import Run

POST = ("post", "--key", "order:1:commission", "--kind", "commission", "--debit", "world", "--credit", "platform")
AMOUNTS = frozenset(
    {
        "amount", "signed", "posted", "held", "available", "floor", "needed", "balance_before", "balance_after",
        "debit_before", "debit_after", "credit_before", "credit_after", "left",
    }
)  # fmt: skip
LARGEST = 2**63 - 1


def _no_text(document: Any, where: str = "") -> Iterator[str]:
    """Find where a document holds an amount as anything but text, or a float anywhere."""
    if isinstance(document, float):
        yield where
    elif isinstance(document, list):
        for part in document:
            yield from _no_text(part, where)
    elif isinstance(document, dict):
        for name, value in document.items():
            if name in AMOUNTS and not isinstance(value, str | None | list):
                yield f"{where}.{name}"
            yield from _no_text(value, f"{where}.{name}")


@pytest.fixture
def fresh(server_url: str) -> Iterator[dict[str, str]]:
    """The variables of a ledger that isn't there yet; what is made of it is dropped."""
    name = "made_by_the_terminal"
    yield {"LASTRO_DATABASE_URL": server_url, "LASTRO_LEDGER": name}
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture
def platform(ledger: Ledger) -> Ledger:
    """A hot account and a seller, and one commission posted."""
    ledger.open_account("platform", "BRL", keeping="hot")
    ledger.open_account("seller:1", "BRL")
    ledger.post(
        key="order:1:commission", kind="commission", debit="world", credit="platform", amount=590, currency="BRL"
    )
    return ledger


def test_a_ledger_from_nothing_to_a_closed_account(run: Run, fresh: dict[str, str]) -> None:
    """The whole path: migrate, open, post, replay, read, keep otherwise, reverse, close."""
    assert run("balance", "platform", "BRL", env=fresh).code == 1
    assert (
        run("migrate", env=fresh).out
        == "applied\n0001_core\n0002_points\n0003_holds\n0004_kinds\n0009_outbox\n0010_betting\n"
    )
    assert run("migrate", "--json", env=fresh).json() == {"ledger": "made_by_the_terminal", "applied": []}
    assert run("accounts", "open", "platform", "BRL", "--keeping", "hot", env=fresh).code == 0
    created = run(*POST, "--currency", "BRL", "--amount", "5.90", env=fresh).out.splitlines()[1].split("\t")
    assert created[:5] == ["created", "order:1:commission", "commission", "5.90", "BRL"]
    replayed = run(*POST, "--currency", "BRL", "--minor", "590", env=fresh).out.splitlines()[1].split("\t")
    assert replayed[0] == "replayed"
    assert replayed[1:] == created[1:]
    assert run("balance", "platform", "BRL", env=fresh).out == (
        "account\tcurrency\tposted\theld\tavailable\nplatform\tBRL\t5.90\t0.00\t5.90\n"
    )
    assert run("accounts", "keep", "platform", "BRL", "direct", "--json", env=fresh).json()["keeping"] == "direct"
    part = run("reverse", "order:1:commission", "undo:1", "--amount", "1.00", "--json", env=fresh).json()
    assert (part["transfer"]["amount"], part["transfer"]["reverses"]) == ("100", "order:1:commission")
    rest = run("reverse", "order:1:commission", "undo:2", "--cause", "cancelled", "--json", env=fresh).json()
    assert (rest["transfer"]["amount"], rest["transfer"]["cause"]) == ("490", "cancelled")
    assert run("accounts", "close", "platform", "BRL", "--json", env=fresh).json()["closed_at"] is not None


def test_options_go_before_the_environment(run: Run, server_url: str, ledger_name: str) -> None:
    """--database-url and --ledger win over the variables, for every command alike."""
    wrong: dict[str, str | None] = {"LASTRO_DATABASE_URL": "postgresql://nobody@localhost:1/x", "LASTRO_LEDGER": "none"}
    given = ("--database-url", server_url, "--ledger", ledger_name)
    assert run("accounts", "list", "--json", *given, env=wrong).json()["accounts"] == []
    assert run("partitions", "list", *given, env=wrong).code == 0


@pytest.mark.case("C027")
def test_no_amount_is_ever_a_json_number(run: Run, platform: Ledger) -> None:
    """Results and errors of every command hold amounts as text; no float stands anywhere."""
    open_more = ("accounts", "open", "savings", "BRL", "--floor", "-10.00", "--json")
    post_to_direct = (
        "post", "--key", "k2", "--kind", "sale", "--debit", "world", "--credit", "seller:1", "--currency", "BRL",
    )  # fmt: skip
    documents = [
        run(*command).json()
        for command in (
            open_more,
            ("accounts", "--json"),
            (*post_to_direct, "--amount", "12.34", "--json"),
            ("balance", "platform", "BRL", "--json"),
            ("entries", "seller:1", "BRL", "--json"),
            ("transfer", "k2", "--json"),
            ("reverse", "k2", "undo:k2", "--minor", "34", "--json"),
        )
    ]
    errors = [
        run(*command, "--json").error()
        for command in (
            ("post", "--key", "k3", "--kind", "payout", "--debit", "platform", "--credit", "world", "--currency", "BRL",
             "--minor", "591"),
            (*post_to_direct, "--minor", "1"),
            ("reverse", "k2", "undo:again", "--minor", "5000"),
            ("accounts", "close", "platform", "BRL"),
        )
    ]  # fmt: skip
    assert [error["code"] for error in errors] == [
        "insufficient_funds",
        "transfer_conflict",
        "already_reversed",
        "account_not_empty",
    ]
    assert errors[0]["details"]["needed"] == "591"
    assert errors[1]["details"]["fields"]["amount"] == ["1234", "1"]
    assert [fault for document in [*documents, *errors] for fault in _no_text(document)] == []
    assert list(_no_text({"entries": [{"amount": 5}], "other": 1.5})) == [".entries.amount", ".other"]


@pytest.mark.case("C027")
def test_the_largest_amount_comes_through_unchanged(run: Run, ledger: Ledger) -> None:
    """2^63−1 minor units, 19 digits, are posted, read and listed to the last digit, by both ways to write it."""
    ledger.open_account("whale", "BRL")
    post = ("post", "--kind", "sale", "--debit", "world", "--credit", "whale", "--currency", "BRL")
    first = run(*post, "--key", "k", "--minor", str(LARGEST), "--json").json()
    assert first["transfer"]["amount"] == first["transfer"]["credit_after"] == "9223372036854775807"
    again = run(*post, "--key", "k", "--amount", "92233720368547758.07", "--json").json()
    assert (again["replayed"], again["transfer"]["amount"]) == (True, "9223372036854775807")
    assert run("balance", "whale", "BRL", "--json").json()["posted"] == "9223372036854775807"
    assert run("balance", "world", "BRL").out.splitlines()[1].split("\t")[2] == "-92233720368547758.07"
    assert run("entries", "whale", "BRL", "--json").json()["entries"][0]["signed"] == "9223372036854775807"
    assert run(*post, "--key", "k2", "--minor", str(LARGEST + 1), "--json").error()["code"] == "amount_out_of_range"


@pytest.mark.case("C028")
def test_every_price_to_a_hundred_is_read_exactly() -> None:
    """All 10,000 prices with two decimals are the cents they say."""
    assert all(amount_of(f"{cents // 100}.{cents % 100:02}", None, "BRL") == cents for cents in range(10_000))


@pytest.mark.parametrize(
    ("given", "currency", "says"),
    [
        (("--amount", "5.999"), "BRL", "decimals"),
        (("--amount", "5,90"), "BRL", "is not an amount"),
        (("--amount", "1e3"), "BRL", "is not an amount"),
        (("--amount", "NaN"), "BRL", "is not an amount"),
        (("--amount", "-1.00"), "BRL", "amount must be 1"),
        (("--amount", "0"), "BRL", "amount must be 1"),
        (("--amount", "10"), "POINTS", "--minor"),
        (("--minor", "5.90"), "BRL", "whole number of minor units"),
        (("--minor", "1_000"), "BRL", "whole number of minor units"),
        (("--minor", "٣"), "BRL", "whole number of minor units"),
        (("--minor", ""), "BRL", "whole number of minor units"),
    ],
)
def test_an_amount_that_is_none_is_refused(
    run: Run, platform: Ledger, given: tuple[str, str], currency: str, says: str
) -> None:
    """What isn't exactly an amount of the currency is refused in a sentence that says why; nothing is written."""
    answer = run(*POST[:2], "other", *POST[3:], "--currency", currency, *given)
    assert answer.code == 1
    assert says in answer.err
    assert answer.err.count("\n") == 1
    assert platform.transfer("other") is None


def test_a_currency_of_ones_own_is_counted_in_whole_units(run: Run, ledger: Ledger) -> None:
    """Outside ISO 4217 amounts are written with --minor and shown as they are."""
    ledger.open_account("member", "POINTS")
    done = run(*POST[:-1], "member", "--currency", "POINTS", "--minor", "50")
    assert done.out.splitlines()[1].split("\t")[3:5] == ["50", "POINTS"]


@pytest.mark.parametrize("given", [(), ("--amount", "1.00", "--minor", "100")])
def test_an_amount_is_given_once(run: Run, ledger: Ledger, given: tuple[str, ...]) -> None:
    """Neither --amount nor --minor, or both, is a usage error; machines get it as JSON as well."""
    answer = run(*POST, "--currency", "BRL", *given)
    assert answer.code == 2
    assert "give the amount once" in answer.err
    assert run(*POST, "--currency", "BRL", *given, "--json").error()["code"] == "usage"


@pytest.mark.case("C022")
def test_a_key_is_never_made_up(run: Run, ledger: Ledger) -> None:
    """Posting without a key is a usage error: a new key for each attempt is how money moves twice."""
    answer = run("post", *POST[3:], "--currency", "BRL", "--minor", "1")
    assert answer.code == 2
    assert "--key" in answer.err


def test_accounts_are_listed_in_pages(run: Run, ledger: Ledger) -> None:
    """A page names where the next one starts, and the last page says there is none; `accounts` alone lists."""
    for name in ("a", "b", "c"):
        ledger.open_account(name, "BRL", floor=None)
    first = run("accounts", "list", "--limit", "2", "--json").json()
    assert [account["name"] for account in first["accounts"]] == ["a", "b"]
    following = run(
        "accounts", "list", "--limit", "3", "--after", *first["next"].values(), "--prefix", "c", "--json"
    ).json()
    assert ([account["name"] for account in following["accounts"]], following["next"]) == (["c"], None)
    assert [line.split("\t")[0] for line in run("accounts").out.splitlines()] == ["account", "a", "b", "c", "world"]
    assert run("accounts", "--json", "list").code == 2


def test_floors_are_written_in_either_way(run: Run, ledger: Ledger) -> None:
    """--floor in the currency's decimals, --floor-minor in minor units, --no-floor for none, zero by default."""
    for name, given, floor in (
        ("a", (), "0"),
        ("b", ("--floor", "-10.50"), "-1050"),
        ("c", ("--floor-minor", "-7"), "-7"),
        ("d", ("--no-floor",), None),
    ):
        assert run("accounts", "open", name, "BRL", *given, "--json").json()["floor"] == floor
    assert run("accounts", "open", "e", "BRL", "--floor", "1.00", "--no-floor").code == 2


def test_entries_come_in_pages(run: Run, platform: Ledger) -> None:
    """A full page names the id to go on after; the last one doesn't."""
    platform.post(key="k2", kind="commission", debit="world", credit="platform", amount=10, currency="BRL")
    first = run("entries", "platform", "BRL", "--limit", "1", "--json").json()
    assert [entry["key"] for entry in first["entries"]] == ["order:1:commission"]
    rest = run("entries", "platform", "BRL", "--after", str(first["next"]), "--json").json()
    assert ([entry["key"] for entry in rest["entries"]], rest["next"]) == (["k2"], None)


def test_moments_need_a_time_zone(run: Run, platform: Ledger) -> None:
    """A balance at a moment, and when something happened, are taken with a zone and refused without one."""
    assert run("balance", "platform", "BRL", "--at", "2020-01-01T00:00:00Z", "--json").json()["posted"] == "0"
    post = (*POST[:2], "late", *POST[3:], "--currency", "BRL", "--minor", "1")
    happened = run(*post, "--occurred-at", "2026-11-30T09:00:00-03:00", "--json").json()
    assert happened["transfer"]["occurred_at"] == "2026-11-30T12:00:00+00:00"
    for moment in ("2026-11-30T09:00:00", "yesterday"):
        assert run(*post, "--occurred-at", moment, "--json").error()["code"] == "invalid_input"


def test_metadata_is_a_json_object(run: Run, platform: Ledger) -> None:
    """Metadata comes back as it was given; what is no object is refused."""
    post = (*POST[:2], "noted", *POST[3:], "--currency", "BRL", "--minor", "1", "--json")
    assert run(*post, "--metadata", '{"till": 4}').json()["transfer"]["metadata"] == {"till": 4}
    for metadata in ("[1]", "{", "7"):
        assert run(*post, "--metadata", metadata).error()["code"] == "invalid_input"


def test_an_unknown_key_is_said(run: Run, platform: Ledger) -> None:
    """`transfer` shows what a key holds, for people field by field; a key that holds nothing is a refusal."""
    shown = dict(line.split("\t") for line in run("transfer", "order:1:commission").out.splitlines())
    assert (shown["amount"], shown["credit"]) == ("5.90", "platform")
    for command in (("transfer", "nope"), ("reverse", "nope", "undo", "--amount", "1.00")):
        answer = run(*command, "--json")
        assert (answer.code, answer.error()["code"]) == (1, "unknown_transfer")


def test_partitions_are_listed_and_the_one_in_use_is_not_retired(run: Run, ledger: Ledger) -> None:
    """The list shows what lies ahead; a partition that postings still go to is refused."""
    found = run("partitions", "list", "--json").json()["partitions"]
    assert len(found) >= PARTITIONS_AHEAD
    assert found[0]["from_id"] == 1
    assert run("partitions", "retire", found[0]["name"], "--json").error()["kind"] == "refusal"


def test_names_cannot_forge_lines_or_move_the_cursor(run: Run, ledger: Ledger) -> None:
    """Control characters in a stored name are shown escaped, in tables and in errors."""
    evil = "a\nplatform\tBRL\x1b[2J"
    assert run("accounts", "open", evil, "BRL").code == 0
    listed = run("accounts").out
    assert len(listed.splitlines()) == 3
    assert "\x1b" not in listed
    assert "a\\u000aplatform\\u0009BRL\\u001b[2J" in listed
    assert run("accounts", "--json").json()["accounts"][0]["name"] == evil
    refused = run("balance", evil, "EUR").err
    assert (refused.count("\n"), "\x1b" in refused) == (1, False)


def test_the_keys_of_json_documents_are_stable(run: Run, platform: Ledger) -> None:
    """Scripts are written against these names: one may be added, none renamed or left out."""
    transfer = (
        "id key kind debit credit amount currency occurred_at recorded_at cause reverses source actor metadata"
        " debit_before debit_after credit_before credit_after"
    )
    entry = (
        "transfer_id account currency side kind amount signed balance_before balance_after counter_account key cause"
        " reverses source actor occurred_at recorded_at"
    )
    assert list(run("transfer", "order:1:commission", "--json").json()) == transfer.split()
    assert list(run("entries", "platform", "BRL", "--json").json()["entries"][0]) == entry.split()
    assert (
        list(run("balance", "platform", "BRL", "--json").json()) == "account currency posted held available at".split()
    )
    replayed = run(*POST, "--currency", "BRL", "--minor", "590", "--json").json()
    assert (list(replayed), list(replayed["transfer"])) == (["replayed", "transfer"], transfer.split())
    account = "name currency keeping floor opened_at closed_at metadata"
    assert list(run("accounts", "--json").json()["accounts"][0]) == account.split()
    partition = "name from_id to_id transfers_about"
    assert list(run("partitions", "list", "--json").json()["partitions"][0]) == partition.split()
    error = run("balance", "nobody", "BRL", "--json").error()
    assert list(error) == "code kind message committed details".split()
