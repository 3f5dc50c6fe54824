"""Django connections for tests: settings made once a process, and one alias more for each database."""

from __future__ import annotations

import importlib
import itertools
import sys
from typing import Any
from urllib.parse import urlsplit

import django
import pymysql
from django.conf import settings
from django.db import connections
from psycopg.conninfo import conninfo_to_dict

from tests.support.mariadb import arguments_of

_numbers = itertools.count()
ENGINES = {"postgresql": "postgresql", "sqlite": "sqlite3", "mariadb": "mysql", "mysql": "mysql"}


def configure() -> None:
    """Configure Django for this process, unless that was done."""
    if not settings.configured:
        settings.configure(DATABASES={"default": {}}, USE_TZ=True, INSTALLED_APPS=[])
        django.setup()


def known_as_mysqlclient() -> None:
    """
    Let Django's backend take PyMySQL for mysqlclient, as PyMySQL's own documentation says; for Django's import alone,
    since tests of mysqlclient itself look for the real one.
    """
    if "django.db.backends.mysql.base" in sys.modules:
        return
    pymysql.install_as_MySQLdb()
    importlib.import_module("django.db.backends.mysql.base")
    for name in [name for name in sys.modules if name.partition(".")[0] in {"MySQLdb", "_mysql"}]:
        del sys.modules[name]


def database(url: str, **changed: Any) -> dict[str, Any]:
    """A database's entry in DATABASES."""
    scheme = urlsplit(url).scheme.partition("+")[0]
    entry: dict[str, Any] = {"ENGINE": f"django.db.backends.{ENGINES[scheme]}"}
    if scheme == "sqlite":
        entry |= {"NAME": url.removeprefix("sqlite:///")}
    elif scheme == "postgresql":
        # A socket's directory stands behind the URL's question mark.
        parts = conninfo_to_dict(url)
        names = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
        entry |= {name: str(parts.get(part, "")) for part, name in names.items()}
    else:
        known_as_mysqlclient()
        address = arguments_of(url)
        entry |= {
            "NAME": "",
            "USER": address["user"],
            "PASSWORD": address["password"],
            "HOST": address.get("unix_socket", address["host"]),
            "PORT": "" if "unix_socket" in address else str(address["port"]),
        }
    return entry | changed


def alias_of(url: str, **changed: Any) -> str:
    """Make a database known to Django under an alias of its own, and return that."""
    configure()
    alias = f"test{next(_numbers)}"
    # DATABASES is read once; what ConnectionHandler made of it is a plain dictionary.
    connections.settings[alias] = connections.configure_settings({"default": database(url, **changed)})["default"]
    return alias
