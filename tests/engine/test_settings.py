"""What a database URL says: its scheme."""

from __future__ import annotations

import pytest

from lastro.engine.settings import scheme_of
from lastro.errors import InvalidInput


@pytest.mark.parametrize(
    ("url", "scheme"),
    [
        ("postgresql://user@host/database", "postgresql"),
        ("POSTGRES://host/database", "postgres"),
        ("postgresql+psycopg://host/database", "postgresql"),
        ("embedded:///absolute/path", "embedded"),
        ("embedded:relative/path", "embedded"),
        ("embedded:relative://odd", "embedded"),
    ],
)
def test_the_scheme_of_a_url(url: str, scheme: str) -> None:
    """The scheme comes without its driver and in lower case; `embedded:` needs no slashes behind it."""
    assert scheme_of(url) == scheme


@pytest.mark.parametrize("url", ["", "host=localhost dbname=books", "/var/lib/books", "mailto:somebody"])
def test_text_without_a_scheme_is_refused(url: str) -> None:
    """Anything else is refused with an example of a URL."""
    with pytest.raises(InvalidInput, match="begins with its scheme"):
        scheme_of(url)
