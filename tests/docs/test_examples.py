"""The examples run as they stand, on nothing but the package and its extras, and print what they are here for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.checkout import ROOT

EXAMPLES = ROOT / "examples"
LINES_MAX = 60
TIMEOUT_S = 60
# Modules of an example that is a folder; and the project that tests/django/test_example.py runs.
PARTS = {"adoption/app.py", "adoption/traffic.py", "prepaid/jobs.py"}
DJANGO = EXAMPLES / "django"

PRINTED = {
    "adoption/main.py": """
        can be adopted: True
        imported: 4
        phase: shadow
        user:4 old_write_without_posting
        adjusted: 1
        differences: 0
        phase: ledger
        refused: the ledger has taken over this balance (adoption "users"): UPDATE of public.users refused
        phase: shadow
        phase: ledger
        the same on both sides: True
        no cent lost: True
    """,
    "async_service.py": """
        requests: 330 replayed: 30
        folded in: True
        platform: 7500
    """,
    "batcher_threads.py": """
        paid: 400 refused: 100
        left: 0
        last entry: 100 → 0
    """,
    "checkout_psycopg.py": """
        first attempt: replayed 0
        second attempt: replayed 2
        platform 5.99
        seller:42 53.91
        payout refused: 10000 needed, 5391 available
        payout: 5391
    """,
    "checkout_sqlalchemy.py": """
        orders: 1
        platform: 5.99
        rolled back: None
    """,
    "prepaid/main.py": """
        payment: replayed False
        payment: replayed True
        refused: bonus
        hour 0: {'charged': 2}
        hour 1: {'charged': 2}
        hour 2: {'charged': 1, 'stopped': 1}
        hour 3: {'charged': 1}
        hour 4: {'stopped': 1}
        gpu stopped at 02:00: insufficient_funds
        disk stopped at 04:00: insufficient_funds
        left: 0
        entries: credit bonus debit debit debit debit debit debit
    """,
}


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    """In a folder of its own, with warnings as errors, the example ends well and prints what it should."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.split("\n") == [*(line.strip() for line in PRINTED[name].strip().split("\n")), ""]


def test_every_example_is_here_and_short() -> None:
    """No example goes unrun, none is longer than a screen, and none reaches below the public names."""
    examples = [path for path in EXAMPLES.rglob("*.py") if DJANGO not in path.parents]
    assert {path.relative_to(EXAMPLES).as_posix() for path in examples} == set(PRINTED) | PARTS
    for path in examples:
        text = path.read_text("utf-8")
        assert text.count("\n") < LINES_MAX, path.name
        assert set(re.findall(r"from (lastro[\w.]*) import", text)) <= {
            "lastro.charging",
            "lastro.embedded",
            "lastro.testing",
        }, path.name
