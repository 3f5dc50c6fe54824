"""
What the setting `LASTRO` says: which ledgers the project has, and on which of Django's databases each one lives.

| option of `LASTRO["default"]` | means | without it |
|---|---|---|
| `DATABASE` | the alias in `DATABASES` | `default` |
| `LEDGER` | the ledger: a schema on PostgreSQL, a database on MariaDB and MySQL, a prefix of the tables' names on SQLite | `lastro` |
| `LOCK_TIMEOUT_MS` | milliseconds that a call waits for a lock | 3,000 |

Without the setting there is one ledger, `default`, with all of that. Other names are other ledgers of the project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections

from lastro.engine.django_stores import VENDORS
from lastro.errors import InvalidInput
from lastro.model.limits import LOCK_TIMEOUT_MS
from lastro.sql.catalogue import LEDGER, ledger_name

SETTING: Final = "LASTRO"
DEFAULT: Final = "default"
LEDGER_CHARACTERS_MAX: Final = 48
OPTIONS: Final = ("DATABASE", "LEDGER", "LOCK_TIMEOUT_MS")


_named: dict[str, str] = {}


class Configured(NamedTuple):
    """
    One ledger of the project.
    """

    database: str = DEFAULT_DB_ALIAS
    ledger: str = LEDGER
    lock_timeout_ms: int = LOCK_TIMEOUT_MS

    @property
    def vendor(self) -> str:
        """What Django calls the database's kind: postgresql, sqlite. Doesn't connect."""
        vendor: str = connections[self.database].vendor
        return vendor


class Mistake(NamedTuple):
    """
    What is wrong with the setting: the check's number, what was found and what to do.
    """

    number: str
    message: str
    hint: str


def configured(using: str = DEFAULT) -> Configured:
    """
    Return the ledger called *using* in the settings. Raises ImproperlyConfigured, in the words of `manage.py check`.
    """
    terms = _configured(using)
    ledger = f"{_test_prefix(terms)}{terms.ledger}"[-LEDGER_CHARACTERS_MAX:]
    return terms._replace(ledger=f"_{ledger[1:]}" if ledger[0].isdigit() else ledger)


def _configured(using: str) -> Configured:
    wrong = next(mistakes(), None)
    if wrong is not None:
        raise ImproperlyConfigured(f"{wrong.message} {wrong.hint} ({wrong.number})")
    said = _said()
    if using not in said:
        raise ImproperlyConfigured(f"there is no ledger {using!r} in {SETTING}; there is: {', '.join(sorted(said))}")
    return Configured(**{option.lower(): value for option, value in said[using].items()})


def in_test_database(alias: str) -> bool:
    """
    Say whether Django's tests have put a database of theirs in the place of the project's.
    """
    return bool(_named) and connections[alias].settings_dict["NAME"] != _named[alias]


def remember_names() -> None:
    """
    Remember what the databases are called in the settings, before tests rename them.
    """
    _named.update({alias: connections[alias].settings_dict["NAME"] for alias in connections.settings})


def _test_prefix(terms: Configured) -> str:
    # Elsewhere a ledger lives inside Django's database. Here it is one beside it, and a test must not meet the real one.
    if terms.vendor != "mysql" or not in_test_database(terms.database):
        return ""
    name = str(connections[terms.database].settings_dict["NAME"])
    return re.sub(r"[^a-z0-9_]", "_", name.lower()) + "_"


def on_database(alias: str) -> list[str]:
    """
    Return the names of the ledgers that live on a database of Django's.
    """
    return [name for name in _said() if configured(name).database == alias]


def mistakes() -> Iterator[Mistake]:
    """
    Yield what is wrong with the setting; nothing where it is fine.
    """
    said = _said()
    if not isinstance(said, Mapping) or DEFAULT not in said:
        yield Mistake(
            "lastro.E001",
            f"{SETTING} must be a dictionary of ledgers with one called {DEFAULT!r}.",
            f'Write {SETTING} = {{"default": {{"DATABASE": "default"}}}}, or leave it out.',
        )
        return
    for name, options in said.items():
        if isinstance(options, Mapping):
            yield from _mistakes_of(name, options)
        else:
            yield Mistake(
                "lastro.E001",
                f"{SETTING}[{name!r}] must be a dictionary of options; it is {type(options).__name__}.",
                f"Its options are {', '.join(OPTIONS)}.",
            )


def _mistakes_of(name: str, options: Mapping[str, Any]) -> Iterator[Mistake]:
    for option in options:
        if option not in OPTIONS:
            yield Mistake(
                "lastro.E002",
                f"{SETTING}[{name!r}] has no option {option!r}.",
                f"Its options are {', '.join(OPTIONS)}.",
            )
    database = options.get("DATABASE", DEFAULT_DB_ALIAS)
    if database not in connections.settings:
        yield Mistake(
            "lastro.E003",
            f"{SETTING}[{name!r}] lives on DATABASE {database!r}, which isn't in DATABASES.",
            f"DATABASES has {', '.join(sorted(connections.settings))}.",
        )
    elif connections[database].vendor not in VENDORS:
        yield Mistake(
            "lastro.E004",
            f"{SETTING}[{name!r}] lives on {database!r}, which is {connections[database].display_name}.",
            f"A ledger lives on one of {', '.join(VENDORS)}.",
        )
    try:
        ledger_name(options.get("LEDGER", LEDGER))
    except InvalidInput as refused:
        yield Mistake("lastro.E005", f"{SETTING}[{name!r}]['LEDGER']: {refused}.", "It becomes part of statements.")
    timeout_ms = options.get("LOCK_TIMEOUT_MS", LOCK_TIMEOUT_MS)
    if isinstance(timeout_ms, bool) or not isinstance(timeout_ms, int) or timeout_ms < 1:
        yield Mistake(
            "lastro.E006",
            f"{SETTING}[{name!r}]['LOCK_TIMEOUT_MS'] must be a positive whole number; it is {timeout_ms!r}.",
            f"Leave it out for {LOCK_TIMEOUT_MS} milliseconds.",
        )


def table_of(name: str) -> str:
    """
    Return what Django calls a table or view of the ledger `default`: on PostgreSQL it lives in the ledger's schema.
    """
    return _quoted(name, configured())


def declared_table_of(name: str) -> str:
    """
    Return the same as the settings have it, in a test as well: for models and migrations, which are compared by it.
    """
    return _quoted(name, _configured(DEFAULT))


def _quoted(name: str, terms: Configured) -> str:
    # Django takes a name that is quoted already as it is.
    mark = {"postgresql": '"', "mysql": "`"}.get(terms.vendor)
    return f"{terms.ledger}_{name}" if mark is None else f"{mark}{terms.ledger}{mark}.{mark}{name}{mark}"


def _said() -> Any:
    return getattr(settings, SETTING, {DEFAULT: {}})
