"""
Signing what a webhook sends, and checking it where it is received: HMAC-SHA256 over the moment, the id and the body.

`Lastro-Signature: t=<unix seconds>,v1=<hex>[,v1=<hex>…]`, one `v1` a secret. To change a secret, first let receivers take
both, then give the relay the new one before the old one, then take the old one away.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote, unquote

from lastro.errors import InvalidInput

SIGNATURE_HEADER: Final = "Lastro-Signature"
EVENT_ID_HEADER: Final = "Lastro-Event-Id"
TOLERANCE_S: Final = 300
SECRET_BYTES_MIN: Final = 16
SIGNATURES_MAX: Final = 8


class BadSignature(InvalidInput):
    """What was received is not what a holder of the secret sent just now: it is not to be acted on."""


def signed(body: bytes, *, event_id: str, secrets: Sequence[bytes], at_s: int) -> dict[str, str]:
    """
    Return the headers that say who sent *body*, and when: a signature for each of *secrets*, the newest first.
    """
    digests = [_digest(secret, at_s, event_id, body) for secret in checked_secrets(secrets)]
    return {
        EVENT_ID_HEADER: _quoted(event_id),
        SIGNATURE_HEADER: ",".join([f"t={at_s}", *(f"v1={digest}" for digest in digests)]),
    }


def verify(
    body: bytes, headers: Mapping[str, str], *, secrets: Sequence[bytes], now_s: int, tolerance_s: int = TOLERANCE_S
) -> str:
    """
    Return the event's id if *body*, as it came, was signed with one of *secrets* within *tolerance_s* of *now_s*.

    Raises BadSignature for anything else, also without a header or without a secret. A receiver that acts once an event
    id needs nothing more against replays.
    """
    given = {name.lower(): value for name, value in headers.items()}
    stamp, digests = _parsed(given.get(SIGNATURE_HEADER.lower(), ""))
    quoted_id = given.get(EVENT_ID_HEADER.lower(), "")
    if stamp is None or not digests or not quoted_id:
        raise BadSignature("the signature, its moment or the event's id is missing", argument="headers")
    if abs(now_s - stamp) > tolerance_s:
        raise BadSignature(f"signed {now_s - stamp} s ago; {tolerance_s} s are allowed", argument="headers")
    event_id = _unquoted(quoted_id)
    matches = [
        hmac.compare_digest(_digest(secret, stamp, event_id, body), digest)
        for secret in checked_secrets(secrets)
        for digest in digests
    ]
    if not any(matches):
        raise BadSignature("no secret of ours made this signature", argument="headers")
    return event_id


def checked_secrets(secrets: Sequence[bytes]) -> Sequence[bytes]:
    """
    Return *secrets* if there is one and all are long enough. Without any, nothing is signed and nothing believed.
    """
    if not secrets or any(len(secret) < SECRET_BYTES_MIN for secret in secrets):
        raise InvalidInput(f"a webhook needs a secret of at least {SECRET_BYTES_MIN} bytes", argument="secrets")
    return secrets


def _digest(secret: bytes, at_s: int, event_id: str, body: bytes) -> str:
    return hmac.new(secret, f"{at_s}.{_quoted(event_id)}.".encode() + body, hashlib.sha256).hexdigest()


def _parsed(header: str) -> tuple[int | None, list[str]]:
    stamp: int | None = None
    digests = []
    for part in header.split(",")[: SIGNATURES_MAX + 1]:
        name, _, value = part.strip().partition("=")
        if name == "t" and value.isascii() and value.isdigit():
            stamp = int(value)
        elif name == "v1" and value.isascii():
            digests.append(value)
    return stamp, digests


def _quoted(event_id: str) -> str:
    # A header holds ASCII only, and a key may hold anything.
    return quote(event_id, safe=":/@!$'()*+;=-._~")


def _unquoted(quoted: str) -> str:
    return unquote(quoted)
