"""
A mariadb:// or mysql:// URL, taken apart for a driver.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from lastro.engine.settings import CONNECT_TIMEOUT_S, redacted
from lastro.errors import InvalidInput

PORT = 3306
OPTIONS = ("unix_socket", "ssl", "ssl_ca", "ssl_cert", "ssl_key", "connect_timeout")


class Address(NamedTuple):
    """
    Where a server is and who asks. The database is only the one that names without a schema would mean.
    """

    host: str
    port: int
    user: str
    password: str
    database: str | None
    unix_socket: str | None
    ssl: ssl.SSLContext | None
    connect_timeout_s: int


def address_of(url: str) -> Address:
    """
    Return the address in *url*: mariadb://user:password@host:port/database?unix_socket=…&ssl_ca=….

    Raises InvalidInput for a port or an option that means nothing here.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(options.keys() - set(OPTIONS))
    try:
        port = parts.port or PORT
        connect_timeout_s = int(options.get("connect_timeout", CONNECT_TIMEOUT_S))
    except ValueError as error:
        raise InvalidInput(f"a port or timeout in {redacted(url)!r} is no number", argument="url") from error
    if unknown:
        raise InvalidInput(
            f"{redacted(url)!r} has the option {unknown[0]!r}; these are known: {', '.join(OPTIONS)}", argument="url"
        )
    return Address(
        host=unquote(parts.hostname or "localhost"),
        port=port,
        user=unquote(parts.username or "root"),
        password=unquote(parts.password or ""),
        database=unquote(parts.path.removeprefix("/")) or None,
        unix_socket=options.get("unix_socket"),
        ssl=_ssl(options),
        connect_timeout_s=connect_timeout_s,
    )


def arguments_of(address: Address, *, multi_statements: int) -> dict[str, Any]:
    """
    Return what PyMySQL's and asyncmy's connect() are called with: autocommit, several statements a packet.
    """
    arguments: dict[str, Any] = {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "password": address.password,
        "charset": "utf8mb4",
        "autocommit": True,
        "connect_timeout": address.connect_timeout_s,
        "client_flag": multi_statements,
    }
    if address.database is not None:
        arguments["database"] = address.database
    if address.unix_socket is not None:
        arguments["unix_socket"] = address.unix_socket
    if address.ssl is not None:
        arguments["ssl"] = address.ssl
    return arguments


def _ssl(options: Mapping[str, str]) -> ssl.SSLContext | None:
    if not any(name.startswith("ssl") for name in options):
        return None
    context = ssl.create_default_context(cafile=options.get("ssl_ca"))
    if "ssl_cert" in options:
        context.load_cert_chain(options["ssl_cert"], options.get("ssl_key"))
    return context
