"""
What the environment says: which database, which ledger, and where the embedded server keeps its data.

| variable | means | without it |
|---|---|---|
| `LASTRO_DATABASE_URL` | the database: postgresql://…, embedded:///path, mariadb://… or sqlite:///file.db | none: whoever needs one asks for it |
| `LASTRO_LEDGER` | the ledger, which is a schema of that database | `lastro` |
| `LASTRO_RELAY_TARGET` | where the relay publishes to: https://…, kafka://…, nats://…, amqp://…, reads+postgresql://…; several with blanks between | none: no relay works |
| `LASTRO_RELAY_SECRETS` | what webhooks are signed with, the newest first, with blanks between | none: no webhook is sent |
| `LASTRO_RELAY_AFTER_SET_ASIDE` | what the later events of a key do once one was set aside: `wait` or `go_on` | `wait` |
| `LASTRO_INTAKE_SOURCE` | where results come from: kafka://broker:9092?topic=results&group=sportsbook | none: no intake works |
| `LASTRO_DATA` | the directory of the embedded server | `.lastro` below the working directory |

A variable that is empty or blank counts as not set. What a caller gives goes before what the environment says.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from urllib.parse import quote

DATABASE_URL_VARIABLE: Final = "LASTRO_DATABASE_URL"
LEDGER_VARIABLE: Final = "LASTRO_LEDGER"
RELAY_TARGET_VARIABLE: Final = "LASTRO_RELAY_TARGET"
RELAY_SECRETS_VARIABLE: Final = "LASTRO_RELAY_SECRETS"
RELAY_AFTER_SET_ASIDE_VARIABLE: Final = "LASTRO_RELAY_AFTER_SET_ASIDE"
INTAKE_SOURCE_VARIABLE: Final = "LASTRO_INTAKE_SOURCE"
DATA_VARIABLE: Final = "LASTRO_DATA"

RELAY_AFTER_SET_ASIDE_DEFAULT: Final = "wait"
LEDGER_DEFAULT: Final = "lastro"
DATA_DEFAULT: Final = ".lastro"


def database_url(given: str | None = None) -> str | None:
    """
    Return the database's URL, or None where nobody names one: there is no default that money could end up in unseen.
    """
    return given or _set(DATABASE_URL_VARIABLE)


def ledger(given: str | None = None) -> str:
    """
    Return the ledger's name.
    """
    return given or _set(LEDGER_VARIABLE) or LEDGER_DEFAULT


def relay_targets() -> list[str]:
    """
    Return the URLs of where the relay publishes to.
    """
    return (_set(RELAY_TARGET_VARIABLE) or "").split()


def relay_secrets() -> list[bytes]:
    """
    Return the secrets that webhooks are signed with, the newest first.
    """
    return [secret.encode() for secret in (_set(RELAY_SECRETS_VARIABLE) or "").split()]


def relay_after_set_aside() -> str:
    """
    Return what the later events of a key do once one was set aside.
    """
    return _set(RELAY_AFTER_SET_ASIDE_VARIABLE) or RELAY_AFTER_SET_ASIDE_DEFAULT


def intake_source() -> str | None:
    """
    Return the URL of where results of markets come from.
    """
    return _set(INTAKE_SOURCE_VARIABLE)


def data_directory(given: Path | None = None) -> Path:
    """
    Return the directory of the embedded server, absolute.
    """
    return (given or Path(_set(DATA_VARIABLE) or DATA_DEFAULT)).expanduser().absolute()


def embedded_url(directory: Path) -> str:
    """
    Return the URL of the embedded server in *directory*: it holds no password, and every command takes it.
    """
    return f"embedded://{quote(str(directory.absolute()))}"


def _set(variable: str) -> str | None:
    return os.environ.get(variable, "").strip() or None
