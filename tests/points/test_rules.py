"""Earning rules: each change is a version, the newest counts, and what was earned stays as it was."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lastro import InvalidInput, Ledger, RuleConflict, UnknownRule
from lastro.ledger.points_blocking import Points
from lastro.points.rules import EARNING_POINTS_MAX, RuleTerms
from lastro.testing import Clock

WEEKLY: dict[str, Any] = {
    "activity": "game",
    "points": 10,
    "currency": "PTS",
    "cap": 50,
    "period": "week",
    "time_zone": "Europe/Paris",
    "priority": 3,
    "beyond_cap": "refuse",
    "lot_days": 365,
}


@pytest.mark.req("1.11")
def test_a_rule_comes_back_as_it_was_defined(points: Points, clock: Clock) -> None:
    """Everything that was said is kept, with the version and the moment; left out, it is what the signature says."""
    defined = points.define_rule("weekly", **WEEKLY)
    assert defined.terms == RuleTerms(name="weekly", **WEEKLY)
    assert (defined.version, defined.defined_at) == (1, clock())
    assert points.rule("weekly") == defined
    plain = points.define_rule("plain", activity="game", points=1, currency="GEM")
    assert plain.terms == RuleTerms("plain", "game", 1, "GEM", None, "ever", "UTC", 0, "fit", None)
    assert points.rules() == [plain, defined]
    assert points.rules(after="plain") == [defined]
    assert points.rules(limit=1) == [plain]


def test_a_change_is_a_new_version(points: Points) -> None:
    """The same terms again are the same version; other terms are the next one; ending a rule is a version too."""
    first = points.define_rule("weekly", **WEEKLY)
    assert points.define_rule("weekly", **WEEKLY) == first
    second = points.define_rule("weekly", **WEEKLY | {"points": 20})
    assert (second.version, second.points) == (2, 20)
    ended = points.end_rule("weekly")
    assert (ended.version, ended.points) == (3, 0)
    assert points.end_rule("weekly") == ended
    assert points.rule("weekly") == ended
    assert points.define_rule("weekly", **WEEKLY).version == 4


def test_a_rule_stays_with_its_activity_and_its_currency(points: Points) -> None:
    """A version for another activity or currency is refused: what a rule gave could not be compared any more."""
    points.define_rule("weekly", **WEEKLY)
    for change in ({"activity": "win"}, {"currency": "GEM"}):
        with pytest.raises(RuleConflict) as refused:
            points.define_rule("weekly", **WEEKLY | change)
        assert list(refused.value.fields) == list(change)
    assert points.rule("weekly").version == 1


def test_an_unknown_rule_is_named(points: Points) -> None:
    """Whoever asks for, ends or rebuilds a rule that isn't there hears its name."""
    for ask in (points.rule, points.end_rule):
        with pytest.raises(UnknownRule, match="'nothing'"):
            ask("nothing")


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("name", ""),
        ("name", "9lives"),
        ("name", "a:b"),
        ("name", "é"),
        ("name", "r" * 65),
        ("activity", ""),
        ("activity", "a" * 65),
        ("activity", 5),
        ("points", -1),
        ("points", 1.5),
        ("points", True),
        ("points", EARNING_POINTS_MAX + 1),
        ("currency", "brl"),
        ("cap", -1),
        ("cap", 2**62 + 1),
        ("cap", "50"),
        ("period", "year"),
        ("period", None),
        ("time_zone", "Mars/Olympus"),
        ("time_zone", None),
        ("priority", 1_000_001),
        ("priority", None),
        ("beyond_cap", "ignore"),
        ("lot_days", 0),
        ("lot_days", 36_501),
    ],
)
def test_what_a_rule_may_not_say(points: Points, argument: str, value: object) -> None:
    """Each term has its bounds; the refusal names the argument and nothing is written."""
    said: dict[str, Any] = {"name": "weekly"} | WEEKLY | {argument: value}
    with pytest.raises(InvalidInput) as refused:
        points.define_rule(said.pop("name"), **said)
    assert refused.value.argument in (argument, "rule")
    assert points.rules() == []


def test_definers_at_once_make_versions_of_their_own(ledger: Ledger, store: str) -> None:
    """Of several who change a rule at once each gets a version, or the one that says the same."""
    points = ledger.points
    with ThreadPoolExecutor(4) as pool:
        defined = list(pool.map(lambda give: points.define_rule("weekly", **WEEKLY | {"points": give}), range(1, 9)))
    assert sorted(rule.version for rule in defined) == list(range(1, 9)), store
    assert {rule.points for rule in defined} == set(range(1, 9))
