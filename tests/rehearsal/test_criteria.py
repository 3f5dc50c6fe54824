"""Exit criteria: read strictly from a file, and a verdict that follows from them and nothing else."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import pytest

import lastro
from lastro.rehearsal.criteria import Criteria, read_criteria
from lastro.rehearsal.match import Match
from lastro.rehearsal.measuring import generator_of, percentile, phases_of, stretches_of
from lastro.rehearsal.open_loop import Arrival, Visits
from lastro.rehearsal.rehearsing import limits_of
from lastro.rehearsal.verdict import Figure, Verdict, judge
from tests.rehearsal.test_open_loop import programme

EVERYTHING = """
[placement]
p50_ms_max = 5
p95_ms_max = 25.5
p99_ms_max = 50
max_ms_max = 500
errors_max = 3

[burst]
p50_ms_max = 5
p95_ms_max = 25
p99_ms_max = 50
max_ms_max = 500
p99_ratio_max = 2.0
longest_over_drain_max = 0.5
longest_over_batch_max = 1.0
ratio_counts_from_ms = 20
longest_counts_from_ms = 20

[afterwards]
backlog_age_ms_max = 1000
backlog_drained_ms_max = 5000
tail_age_ms_max = 2000
tail_drained_ms_max = 5000

[database]
deadlocks_max = 0

[books]
drift_max = 0
incidents_max = 0
"""


def written(folder: Path, text: str) -> Path:
    """A file of criteria."""
    path = folder / "criteria.toml"
    path.write_text(text, "utf-8")
    return path


def test_criteria_are_read_from_toml(tmp_path: Path) -> None:
    """A file sets the limits that it names, and no other is judged; it goes to another process as it is."""
    criteria = read_criteria(written(tmp_path, EVERYTHING), "placement")
    assert len(criteria.limits) == 21
    assert criteria.get("placement.p95_ms_max") == 25.5
    assert pickle.loads(pickle.dumps(criteria)) == criteria
    few = read_criteria(written(tmp_path, "[database]\ndeadlocks_max = 0\n"), "placement")
    assert dict(few.limits) == {"database.deadlocks_max": 0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "sets no criterion"),
        ("[placement]\n", "sets no criterion"),
        ("[placement]\np99_max = 25\n", r"placement.p99_max is no criterion; known are \[placement\]"),
        ("[afterwards]\np99_ms_max = 25\n", "afterwards.p99_ms_max is no criterion"),
        ("p99_ms_max = 25\n", "p99_ms_max is no criterion"),
        ("[checkout]\np99_ms_max = 25\n", r"\[checkout\] is another scenario's; .* \[placement\]"),
        ('[placement]\np99_ms_max = "25"\n', "must be a number"),
        ("[placement]\np99_ms_max = true\n", "must be a number"),
        ("[placement]\np99_ms_max = nan\n", "must be a number"),
        ("[placement]\np99_ms_max = inf\n", "must be a number"),
        ("[placement]\np99_ms_max = -1\n", "must be a number"),
        ("[placement]\nerrors_max = 0.5\n", "must be a whole number"),
        ("[burst]\nratio_counts_from_ms = 5\n", "none of them is set"),
        ("[burst]\nlongest_counts_from_ms = 5\np99_ratio_max = 2\n", "none of them is set"),
        ("[placement\n", "can't be read"),
        ("#" * 70_000, "more than 65536 bytes"),
    ],
)
def test_criteria_that_say_nothing_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """A criterion misspelt would be one that can't fail: it is refused, as is a file that sets none."""
    with pytest.raises(lastro.InvalidInput, match=said):
        read_criteria(written(tmp_path, text), "placement")


def test_what_judges_a_burst_needs_one(tmp_path: Path) -> None:
    """Without a burst the default criteria leave it out, and a file that judges it is refused."""
    path = written(tmp_path, EVERYTHING)
    assert limits_of(Match(), programme(), path).of_burst
    assert not limits_of(Match(), programme(burst=0), None).of_burst
    assert limits_of(Match(), programme(), None).of_burst
    with pytest.raises(lastro.InvalidInput, match="--burst"):
        limits_of(Match(), programme(burst=0), path)


LIMITS = Criteria({"placement.p99_ms_max": 100.0, "database.deadlocks_max": 0})


def judged(p99: Figure, *, deadlocks: int = 0, unbalanced: str | None = None, trouble: str | None = None) -> Verdict:
    """The verdict on two figures."""
    figures = {
        "placement.p99_ms_max": p99,
        "database.deadlocks_max": Figure(deadlocks),
        "burst.max_ms_max": Figure(1e9),
    }
    return judge(LIMITS, figures, unbalanced=unbalanced, generator_trouble=trouble, waits_for="placement")


@pytest.mark.req("3.18")
@pytest.mark.parametrize(
    ("verdict", "word", "code", "missed"),
    [
        (judged(Figure(100.0)), "passed", 0, []),
        (judged(Figure(100.1)), "failed", 1, ["placement.p99_ms_max"]),
        (judged(Figure(math.nan)), "failed", 1, ["placement.p99_ms_max"]),
        (judged(Figure(900.0, aside="it doesn't count")), "passed", 0, []),
        (judged(Figure(1.0), deadlocks=1), "failed", 1, ["database.deadlocks_max"]),
        (judged(Figure(1.0), unbalanced="a cent is missing"), "failed", 1, ["books.balanced"]),
        # The generator was late: nothing passes, and only what it can't have made is missed.
        (judged(Figure(1.0, 1.0), trouble="late"), "inconclusive", 2, []),
        (judged(Figure(900.0, 1.0), trouble="late"), "inconclusive", 2, []),
        (judged(Figure(900.0, 800.0), trouble="late"), "failed", 1, ["placement.p99_ms_max"]),
        (judged(Figure(900.0, 1.0), deadlocks=1, trouble="late"), "failed", 1, ["database.deadlocks_max"]),
    ],
)
def test_the_verdict(verdict: Verdict, word: str, code: int, missed: list[str]) -> None:
    """Each criterion can be missed; a late generator makes no slowness of its own anybody else's, and no error good."""
    assert (verdict.word, verdict.exit_code, verdict.passed) == (word, code, word == "passed")
    assert [reason.partition(":")[0] for reason in verdict.reasons if reason != "late"] == missed
    assert len(verdict.criteria) == 3


def test_a_reason_is_a_sentence() -> None:
    """What was missed is said with the figure, the limit and what was waited for."""
    assert judged(Figure(1402.0)).reasons == (
        "placement.p99_ms_max: 99 % of placements took up to 1,402 ms; at most 100 was asked",
    )


def visits(*each: tuple[float, float, bool]) -> Visits:
    """Visits by when they were due, when they ended, and whether they succeeded."""
    made = Visits()
    for number, (due_s, ended_s, good) in enumerate(each):
        error = None if good else "lock_timeout"
        made.note(Arrival(number, due_s), started_s=due_s + 0.001, ended_s=ended_s, waited=False, error=error)
    return made


def test_phases_are_told_apart_by_the_time_that_a_visit_took() -> None:
    """Who was still waiting as the burst came belongs to it; the warm-up to nothing; failures make no time prettier."""
    some = visits(
        (0.1, 9.0, True),  # in the warm-up
        (2.0, 2.01, True),
        (4.9, 5.5, True),  # due before the burst, and held up by it
        (6.0, 6.3, True),
        (6.5, 6.6, False),
        (7.5, 7.52, True),
    )
    phases = phases_of(some, warm_up_s=1.0, burst=(5.0, 7.0))
    assert phases.burst is not None
    assert phases.after is not None
    assert (phases.before.visits, phases.burst.visits, phases.after.visits, phases.whole.visits) == (1, 2, 1, 4)
    assert (phases.burst.errors, phases.burst.max_ms) == (1, pytest.approx(600.0))
    assert phases.burst.own("max_ms") == pytest.approx(599.0)
    alone = phases_of(some, warm_up_s=1.0, burst=None)
    assert (alone.before, alone.burst, alone.after) == (alone.whole, None, None)


def test_stretches_cover_the_run() -> None:
    """Every arrival is in one stretch of its time, and a stretch without any has no percentiles."""
    some = visits(*((0.05 * number, 0.05 * number + 0.01, True) for number in range(100)))
    stretches = stretches_of(some, seconds=10.0)
    assert sum(stretch.arrivals for stretch in stretches) == 100
    assert all(stretch.arrivals or math.isnan(stretch.p99_ms) for stretch in stretches)
    assert generator_of(some, seconds=10.0).held


def test_percentiles_are_by_nearest_rank() -> None:
    """No interpolation: each percentile is a value that was measured."""
    values = [float(value) for value in range(1, 101)]
    assert [percentile(values, percent) for percent in (50, 99, 100)] == [50.0, 99.0, 100.0]
    assert percentile([7.0], 50) == 7.0
    assert math.isnan(percentile([], 99))
