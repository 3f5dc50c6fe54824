"""The package keeps the house rules, and each rule catches what it is there for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.house import python_rules as rules
from tests.house.checkout import PACKAGE
from tests.house.python_rules import Module

pytestmark = pytest.mark.house

Rule = Callable[[Module], Iterator[str]]

LONG_FUNCTION = "def long():\n" + "    x = 1\n" * rules.FUNCTION_LINES_MAX
LONG_MODULE = "x = 1\n" * (rules.MODULE_LINES_MAX + 1)

# rule, path, a text that breaks it
BROKEN: list[tuple[Rule, str, str]] = [
    (rules.says_its_job, "ledger.py", "import os\n"),
    (rules.says_its_job, "ledger.py", '"""ledger"""\n'),
    (rules.is_short, "ledger.py", LONG_FUNCTION),
    (rules.is_short, "ledger.py", LONG_MODULE),
    (rules.is_named_for_the_domain, "engine/utils.py", ""),
    (rules.is_named_for_the_domain, "common/text.py", ""),
    (rules.is_named_for_the_domain, "engine/base.py", ""),
    (rules.is_named_for_the_domain, "engine/runner.py", "class BaseRunner: ..."),
    (rules.is_named_for_the_domain, "engine/runner.py", "class ConnectionManager: ..."),
    (rules.counts_in_integers, "model/money.py", "x = float(y)"),
    (rules.counts_in_integers, "plans/posting.py", "fee = amount * 0.1"),
    (rules.counts_in_integers, "plans/posting.py", "fee = amount / 10"),
    (rules.is_pure, "model/money.py", "import os"),
    (rules.is_pure, "plans/posting.py", "from psycopg import errors"),
    (rules.never_ends_a_transaction, "plans/posting.py", "connection.commit()"),
    (rules.takes_time_from_the_database, "engine/clock.py", "datetime.datetime.now(UTC)"),
    (rules.takes_time_from_the_database, "workers/loop.py", "time.time()"),
    (rules.names_its_limits, "workers/loop.py", "for attempt in range(5): ..."),
    (rules.names_its_limits, "workers/loop.py", "stop.wait(timeout=2.5)"),
    (rules.keeps_sql_in_files, "engine/runner.py", 'x = "SELECT id FROM lastro.account"'),
    (rules.never_imports_the_front_door, "ledger.py", "import lastro"),
    (rules.never_imports_the_front_door, "ledger.py", "from lastro import InsufficientFunds"),
]

# rule, path, a text that keeps it and looks a little as if it didn't
KEPT: list[tuple[Rule, str, str]] = [
    (rules.says_its_job, "ledger.py", '"""The plans bound to a connection."""\n'),
    (rules.is_named_for_the_domain, "plans/balance.py", "class Basement: ..."),
    (rules.counts_in_integers, "model/money.py", "def f(x: int) -> bool:\n    return isinstance(x, float) or x // 10"),
    (rules.counts_in_integers, "workers/loop.py", "wait_seconds = wait_ms / 1000"),
    (rules.is_pure, "plans/posting.py", "from lastro.model.transfer import Transfer\nimport decimal"),
    (rules.takes_time_from_the_database, "workers/loop.py", "started = time.monotonic()"),
    (rules.takes_time_from_the_database, "cli/demo.py", "datetime.now(UTC)"),
    (rules.names_its_limits, "workers/loop.py", "for attempt in range(attempts_max): queue.join()"),
    (rules.keeps_sql_in_files, "engine/runner.py", '"""SELECT is said in a file."""\nx = "select a seller"'),
    (rules.never_imports_the_front_door, "rehearsal/marketplace.py", "import lastro"),
]


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Rule) -> None:
    """Every module of the package keeps the rule."""
    modules = rules.modules(PACKAGE)
    assert modules, f"no module found below {PACKAGE}"
    assert [fault for module in modules for fault in rule(module)] == []


@pytest.mark.parametrize(("rule", "path", "text"), BROKEN)
def test_a_rule_catches_what_it_is_for(rule: Rule, path: str, text: str) -> None:
    """A module that breaks the rule is named with its path."""
    faults = list(rule(Module.parse(path, text)))
    assert faults
    assert all(fault.startswith(path) for fault in faults)


@pytest.mark.parametrize(("rule", "path", "text"), KEPT)
def test_a_rule_lets_good_code_pass(rule: Rule, path: str, text: str) -> None:
    """A module that keeps the rule is left in peace."""
    assert list(rule(Module.parse(path, text))) == []


def test_every_rule_has_been_seen_to_fail() -> None:
    """No rule stands in the list that a sample here doesn't break."""
    assert {rule for rule, _, _ in BROKEN} == set(rules.RULES)


def test_allowed_long_functions_exist_and_say_why() -> None:
    """The list of exceptions holds no stale name and no empty reason."""
    for entry, reason in rules.LONG_FUNCTIONS.items():
        path, name = entry.split("::")
        assert f"def {name}(" in (PACKAGE / path).read_text("utf-8")
        assert reason
