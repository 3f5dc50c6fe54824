"""
What a command speaks through: which database and ledger it was given, JSON or tables out, errors in one sentence.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import typer

from lastro import config
from lastro.cli.documents import error_document
from lastro.cli.exits import NOT_DONE, REFUSED
from lastro.cli.tables import print_table
from lastro.cli.wording import in_commands
from lastro.engine.settings import SQLITE_SCHEME, scheme_of
from lastro.engine.sqlite_address import address_of
from lastro.errors import LastroError, Refusal

if TYPE_CHECKING:
    from lastro.ledger import Ledger

# Greedy: a password that nobody escaped may hold any character, an @ too.
_PASSWORD_PLACES: Final = (
    re.compile(r"//[^/:@]*:(?P<password>.+)@", re.DOTALL),
    re.compile(r"\bpassword\s*=\s*'(?P<password>[^']+)'"),
    re.compile(r"\bpassword\s*=\s*(?P<password>[^\s'&]+)"),
    re.compile(r"\bpassword\s*=\s*(?P<password>[^\s']+)"),
)
# libpq takes an @ that nobody escaped for the end of the password and the rest for a host; a piece this long is hidden.
PIECE_CHARACTERS_MIN: Final = 3
_HIDDEN: Final = "…"
# One command does one thing after the other; a worker gets connections of its own.
CONNECTIONS: Final = 1


@dataclass(frozen=True)
class Terminal:
    """
    One run of one command: where it works (`--database-url`, `--ledger`) and how it answers (`--json`).
    """

    given_url: str | None
    given_ledger: str | None
    as_json: bool

    @property
    def ledger_name(self) -> str:
        """The ledger: --ledger, LASTRO_LEDGER, or `lastro`."""
        return config.ledger(self.given_ledger)

    @property
    def named_url(self) -> str | None:
        """The database that --database-url or LASTRO_DATABASE_URL names, or None."""
        return config.database_url(self.given_url)

    def database_url(self) -> str:
        """The database that is named, or a usage error that says how to name one."""
        url = self.named_url
        if url is None:
            raise typer.BadParameter(
                f"no database is named. Set {config.DATABASE_URL_VARIABLE} or give --database-url "
                f"(postgresql://user@host/database). `lastro db start` starts one of your own: "
                f"{config.embedded_url(config.data_directory())}",
                param_hint="--database-url",
            )
        return url

    def connect(self, url: str | None = None, *, making: bool = False) -> Ledger:
        """
        Open the ledger on connections of its own; the caller closes it. A SQLite file that isn't there is refused, unless
        the command is one that makes a ledger: a name that was mistyped must not leave an empty file behind.
        """
        from lastro.connecting import connect

        place = url or self.database_url()
        if scheme_of(place) == SQLITE_SCHEME and not making:
            _refuse_missing(place)
        return connect(place, ledger=self.ledger_name, pool_max=CONNECTIONS)

    @contextmanager
    def opened(self, *, making: bool = False) -> Iterator[Ledger]:
        """Open the ledger for a `with`; *making* may make its file."""
        with self.connect(making=making) as ledger:
            yield ledger

    def show(
        self, document: Mapping[str, Any], *, table: Sequence[Mapping[str, str]], note: str | Sequence[str] = ""
    ) -> None:
        """Print *document* for machines, or the *table*'s rows for people with a *note* below it, of one line or several."""
        if self.as_json:
            self.say_json(document)
            return
        with _reader_may_leave():
            print_table(table)
        for line in [note] if isinstance(note, str) else note:
            # Line by line: within one, a newline is text, and must not forge another.
            if line:
                self.say(line)

    def show_more(self, rows: Sequence[Mapping[str, str]], *, goes_on: bool) -> None:
        """Print a page of a table that is too long to be held; *goes_on* for all pages but the first."""
        with _reader_may_leave():
            print_table(rows, goes_on=goes_on)

    @contextmanager
    def raw(self) -> Iterator[IO[bytes]]:
        """Give standard output as it is, for a file that is written there."""
        with _reader_may_leave():
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()

    def say(self, sentence: str) -> None:
        """Print a sentence for people; machines get none."""
        if not self.as_json:
            with _reader_may_leave():
                print(shown(sentence), flush=True)

    def say_json(self, document: Mapping[str, Any]) -> None:
        """Print one JSON document on one line."""
        with _reader_may_leave():
            print(json.dumps(document), flush=True)

    def fail(self, error: LastroError) -> typer.Exit:
        """Say on stderr what went wrong, without a password in it, and return the exit to raise."""
        document = error_document(error)
        document["message"] = self.redacted(in_commands(document["message"]))
        if self.as_json:
            print(self.redacted(json.dumps({"error": document})), file=sys.stderr)
        else:
            print(f"lastro: {shown(document['message'])} [{document['code']}]", file=sys.stderr)
        return typer.Exit(REFUSED if isinstance(error, Refusal) else NOT_DONE)

    def fail_usage(self, message: str) -> typer.Exit:
        """Say to a machine that the command line isn't understood, and return the exit to raise."""
        document = {"code": "usage", "kind": "usage", "message": message, "committed": "no", "details": {}}
        print(self.redacted(json.dumps({"error": document})), file=sys.stderr)
        return typer.Exit(NOT_DONE)

    def redacted(self, text: str) -> str:
        """Return *text* without the passwords that this command could know of."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return text

    def _secrets(self) -> set[str]:
        found = {match["password"] for place in _PASSWORD_PLACES for match in place.finditer(self.named_url or "")}
        found |= {piece for secret in found for piece in secret.split("@") if len(piece) >= PIECE_CHARACTERS_MIN}
        found |= {unquote(secret) for secret in found} | {os.environ.get("PGPASSWORD", "")}
        found |= {json.dumps(secret)[1:-1] for secret in found}
        return found - {""}


def _refuse_missing(url: str) -> None:
    path = address_of(url).path
    if not path.exists():
        raise Refusal(f"there is no file {str(path)!r}: name the ledger's own, or let `lastro migrate` make a new one")


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not complain while it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(REFUSED) from None


def shown(text: str) -> str:
    """
    Return *text* fit for a terminal: a name with control characters must not move the cursor or forge a line.
    """
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in text)
