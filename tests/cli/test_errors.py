"""Errors: one sentence and a code on stderr, an exit code that says whether to try again, never a password."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from pathlib import Path

import pytest

from lastro import config
from lastro.cli import main as entry
from lastro.cli.exits import NOT_DONE
from lastro.cli.terminal import Terminal
from lastro.errors import (
    AccountClosed,
    ConnectionLost,
    InsufficientFunds,
    LastroError,
    LockTimeout,
    OutcomeUnknown,
)
from lastro.ledger import Ledger
from lastro.sql.catalogue import LEDGER
from tests.cli.conftest import Run

PASSWORD = "s3same&street"


@pytest.fixture
def nobody_listens() -> str:
    """A URL where no server is, with a password."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return f"postgresql://bob:{PASSWORD}@127.0.0.1:{port}/x"


@pytest.mark.parametrize(
    ("error", "code", "kind", "committed"),
    [
        (InsufficientFunds("no", needed=2**60, available=1), 1, "refusal", "no"),
        (AccountClosed("closed"), 1, "refusal", "no"),
        (LockTimeout("held"), 2, "fault", "no"),
        (OutcomeUnknown("who knows"), 2, "fault", "unknown"),
        (LastroError("odd"), 2, "error", "no"),
    ],
)
def test_refusals_and_faults_end_differently(
    run: Run, monkeypatch: pytest.MonkeyPatch, *, error: LastroError, code: int, kind: str, committed: str
) -> None:
    """1: the answer is no and stays no. 2: not done, and for a fault the same key may be tried again."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Ledger, "balance", fail)
    for_people = run("balance", "platform", "BRL")
    assert (for_people.code, for_people.out) == (code, "")
    assert for_people.err == f"lastro: {error} [{error.code}]\n"
    answer = run("balance", "platform", "BRL", "--json")
    document = answer.error()
    assert answer.code == code
    assert (document["code"], document["kind"], document["committed"]) == (error.code, kind, committed)
    assert document["details"] == {name: str(value) for name, value in error.details.items()}


def test_a_database_that_is_not_there_is_a_fault(run: Run, nobody_listens: str) -> None:
    """A refused connection is one sentence and exit code 2, and the URL's password is in no output."""
    for more in ((), ("--json",)):
        answer = run("balance", "platform", "BRL", "--database-url", nobody_listens, *more)
        assert answer.code == 2
        assert ConnectionLost.code in answer.err
        assert PASSWORD not in answer.out + answer.err
        assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://bob:{PASSWORD}@localhost/x",
        f"postgresql://bob:{PASSWORD}@localhost:nine/x",
        f"postgresql://bob:a b{PASSWORD}@localhost/x",
        f"postgresql://bob:p@ss{PASSWORD}@localhost:1/x",
        f"host=localhost password={PASSWORD}",
        f"postgresql://localhost:nine/x?password={PASSWORD}",
        f"//bob:{PASSWORD}@localhost/x",
    ],
)
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_address_that_is_none_is_told_without_its_password(run: Run, url: str, more: tuple[str, ...]) -> None:
    """Whatever is wrong with a URL, the message has no password, and there is no traceback."""
    answer = run("balance", "platform", "BRL", "--database-url", url, *more)
    assert answer.code in {1, 2}
    assert PASSWORD not in answer.out + answer.err
    assert "Traceback" not in answer.err


def test_no_database_named_is_a_usage_error_that_says_how(run: Run) -> None:
    """Without a URL nothing is guessed: money must not end up in a database nobody meant."""
    answer = run("balance", "platform", "BRL", env={"LASTRO_DATABASE_URL": " "})
    assert answer.code == 2
    assert "LASTRO_DATABASE_URL" in answer.err
    assert "lastro db start" in answer.err


def test_secrets_are_known_in_all_their_forms() -> None:
    """Passwords are recognised escaped and plain, in the address, in its parameters and in PGPASSWORD."""
    terminal = Terminal("postgresql://bob:a%40b@h/x?password=second&port=1", None, as_json=False)
    assert terminal.redacted("a%40b a@b second h") == "… … … h"
    assert Terminal(None, None, as_json=False).redacted("a@b") == "a@b"


def test_a_ledger_name_that_is_none_is_refused(run: Run) -> None:
    """A ledger's name stands in statements: only a–z, 0–9 and _ will do."""
    assert run("balance", "a", "BRL", "--ledger", "x; DROP", "--json").error()["code"] == "invalid_input"


def test_the_missing_extra_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without Typer the command says which extra to install, and the library goes on working."""
    monkeypatch.setattr(entry, "find_spec", lambda name: None if name == "typer" else find_spec(name))
    with pytest.raises(SystemExit) as left:
        entry.main()
    assert left.value.code == NOT_DONE
    said = capsys.readouterr().err
    assert 'pip install "lastro[cli]"' in said
    assert "typer" in said
    assert "rich" not in said


def test_the_environment_is_read_anew_and_blank_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given goes before the environment, the environment before the default."""
    monkeypatch.setenv("LASTRO_DATABASE_URL", "  ")
    monkeypatch.setenv("LASTRO_LEDGER", "books")
    monkeypatch.delenv("LASTRO_DATA", raising=False)
    assert config.database_url() is None
    assert config.database_url("postgresql://x") == "postgresql://x"
    assert (config.ledger(), config.ledger("mine")) == ("books", "mine")
    monkeypatch.delenv("LASTRO_LEDGER")
    assert config.ledger() == config.LEDGER_DEFAULT == LEDGER
    assert config.data_directory() == Path.cwd() / ".lastro"
    monkeypatch.setenv("LASTRO_DATA", "/var/lib/lastro")
    assert config.data_directory() == Path("/var/lib/lastro")
    assert config.embedded_url(Path("/a b/ç")) == "embedded:///a%20b/%C3%A7"
