"""The parts of the benchmarks that could break unseen: scripts made of catalogue statements, ratios, the report."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import bench.__main__
from bench import bet_scripts, page, pgbench, report, scripts, targets
from bench.figures import Run
from bench.loads import Load, alternate, percentile
from bench.scale import FULL, NORMAL, QUICK, Scale

POSTING = {
    "hot": scripts.post_to_hot("lastro", world_id=1, credit_id=2),
    "direct": scripts.post_credit("lastro", world_id=1, credit_id=2),
    "spread": scripts.post_credit_spread("lastro", world_id=1, accounts=10),
    "debit": scripts.debit_spread("lastro", world_id=1, accounts=10),
    "twice": scripts.debit_twice("lastro", world_id=1, accounts=10),
    "place_and_capture": scripts.place_and_capture("lastro", world_id=1, accounts=10),
}


@pytest.mark.parametrize("name", POSTING)
def test_catalogue_statements_become_scripts(name: str) -> None:
    """No parameter of the driver is left, and every variable that a script reads is set or given."""
    script = POSTING[name]
    assert "%(" not in script.text
    drawn = set(re.findall(r"^\\set (\w+)", script.text, re.MULTILINE))
    drawn |= {"hold_id"} if "\\gset" in script.text else set()
    read = set(re.findall(r"(?<!:):([a-z_0-9]+)", script.text))
    assert read <= drawn | set(script.variables)
    assert "INSERT INTO lastro.transfer_key" in script.text
    assert script.text.rstrip().endswith(";")


def test_a_placement_becomes_a_script() -> None:
    """The plan's statements in one transaction behind the look; what one of them finds goes to those behind it."""
    script = bet_scripts.place_bet("lastro", prefix="m", markets=10, accounts=10)
    assert "%(" not in script.text
    drawn = set(re.findall(r"^\\set (\w+)", script.text, re.MULTILINE))
    found = {"market_id", "selection_id", "odds", "looked_at", "bet_id"}
    # Whatever a statement finds takes the place of a variable of that name.
    assert not {"settle_by", "state", "account", "key"} & set(script.variables)
    assert set(re.findall(r"(?<!:):([a-z_0-9]+)", script.text)) <= drawn | found | set(script.variables)
    places = [script.text.index(part) for part in ("lastro.barred_account", "BEGIN;", "lastro.submission (", "END;")]
    assert places == sorted(places)


def test_an_unknown_parameter_is_named() -> None:
    """A statement that takes more than the benchmark knows of is an error, not a silent NULL."""
    with pytest.raises(pgbench.UnknownParameter, match="surprise"):
        pgbench.script_of("SELECT %(surprise)s", {})


def test_percent_signs_are_unescaped() -> None:
    """What the driver writes as %% is one % to the server."""
    assert pgbench.script_of("SELECT 'a' LIKE '%%' AND %(x)s", {"x": ":x"}).text == "SELECT 'a' LIKE '%' AND :x;\n"


def test_pgbench_reports_are_read() -> None:
    """Rate and count come from the report; a failed transaction is an error."""
    said = (
        "number of transactions actually processed: 1234\nnumber of failed transactions: {} (0.000%)\n"
        "tps = 411.5 (without initial connection time)\n"
    )
    load = pgbench.load_of(said.format(0), [1.0, 2.0, 3.0])
    assert (load.per_s, load.p50_ms, load.more) == (411.5, 2.0, {"processed": 1234.0})
    with pytest.raises(RuntimeError, match="failed"):
        pgbench.load_of(said.format(2), [])


def test_each_ratio_is_to_the_limits_around_it() -> None:
    """A machine that slows down between rounds doesn't change the ratios."""
    limits = iter([100.0, 50.0, 10.0, 10.0])
    subjects = iter([75.0, 15.0, 8.0])
    compared = alternate(
        lambda: Load(per_s=next(limits), p50_ms=1.0, p99_ms=2.0),
        lambda: Load(per_s=next(subjects), p50_ms=1.0, p99_ms=3.0),
        rounds=3,
    )
    assert compared.ratios == [1.0, 0.5, 0.8]
    assert (compared.ratio, compared.p99_ratio) == (0.8, 1.5)


def test_percentiles() -> None:
    """The 99th of a hundred values is the largest; of none it is 0."""
    assert percentile([float(n) for n in range(100)], 0.99) == 99.0
    assert percentile([], 0.5) == 0.0


class _Server:
    """As much of a server as the report asks for."""

    slow_flush_made = "not measured: no C compiler"

    def settings(self) -> dict[str, str]:
        """Settings."""
        return {"server_version": "18.6", "fsync": "on"}


def _run() -> Run:
    run = Run(server=_Server(), scale=QUICK, seed=7, say=lambda _: None)  # type: ignore[arg-type]
    run.note("sql.hot.8", per_s=1000.0, limit_per_s=1600.0, ratio=0.625, p99_ratio=3.5, ratios=[0.62, 0.625])
    run.not_measured["the 1 ms slower flush"] = "no compiler"
    return run


def test_the_json_has_all_that_a_figure_needs() -> None:
    """Machine, settings, commit, command, seeds, figures and verdicts stand in the file, which is plain JSON."""
    result = report.result_of(_run(), began=datetime(2026, 1, 1, tzinfo=UTC), command=["python", "-m", "bench"])
    again = json.loads(json.dumps(result))
    assert again == result
    assert {"machine", "settings", "commit", "command", "seeds", "figures", "targets", "slow_flush"} <= set(result)
    assert result["seeds"][0] == 7
    verdicts = {(one["figure"], one["value"]): one["met"] for one in result["targets"]}
    assert verdicts["sql.hot.8.F0", "ratio"] is True
    assert verdicts["sql.hot.8.F0", "p99_ratio"] is False
    assert verdicts["sql.hot.32.F0", "ratio"] is None


def test_a_part_that_fails_takes_nothing_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was measured before it and after it is kept, and the page says that it failed and why."""

    def fail(run: Run) -> None:
        run.note("past.closing", mean_s=0.1)
        raise ValueError("no such table")

    monkeypatch.setitem(bench.__main__.PARTS, "past", fail)
    monkeypatch.setitem(bench.__main__.PARTS, "reading", lambda run: run.note("balance.tail_0", p50_ms=0.2))
    run = _run()
    for part in ("past", "reading"):
        bench.__main__.measure_part(run, part)
    result = report.result_of(run, began=datetime(2026, 1, 1, tzinfo=UTC), command=["bench"])
    assert {"sql.hot.8.F0", "past.closing.F0", "balance.tail_0.F0"} <= set(result["figures"])
    assert "past.F0: failed: ValueError: no such table" in page.page_of([result])


def test_the_page_says_what_was_not_met_and_not_measured() -> None:
    """A missed target is marked, a missing figure is not passed over."""
    written = page.page_of([report.result_of(_run(), began=datetime(2026, 1, 1, tzinfo=UTC), command=["bench"])])
    assert "| hot post by SQL, 8 clients, of the limit | ≥ 0.55 | 0.625 | yes | 1 |" in written
    assert "| hot post by SQL, 8 clients, p99 over the limit's | ≤ 3 | 3.5 | **no** | 1 |" in written
    assert "| hot post by SQL, 32 clients, of the limit | ≥ 0.55 | not measured | – | – |" in written
    assert "the 1 ms slower flush: no compiler" in written


def test_a_later_run_replaces_what_it_measured_again() -> None:
    """A page of two runs takes each figure and its verdict from the last run that has it, and says from which."""
    whole = _run()
    whole.figures = {**whole.figures, "holds.place.8.F0": {"per_s": 6_000.0}}
    older = report.result_of(whole, began=datetime(2026, 1, 1, tzinfo=UTC), command=["bench"])
    partial = _run()
    partial.figures = {"sql.hot.8.F0": {"ratio": 0.5, "p99_ratio": 2.0}}
    newer = report.result_of(partial, began=datetime(2026, 1, 2, tzinfo=UTC), command=["bench"], parts=["sql"])
    written = page.page_of([older, newer])
    assert "| hot post by SQL, 8 clients, of the limit | ≥ 0.55 | 0.5 | **no** | 2 |" in written
    assert "| `holds.place.8.F0` | per_s 6,000 | 1 |" in written


def test_parts_get_a_file_of_their_own(tmp_path: Path) -> None:
    """The results of two partial runs of one commit don't overwrite each other."""
    results = [
        report.result_of(_run(), began=datetime(2026, 1, 1, tzinfo=UTC), command=["bench"], parts=parts)
        for parts in ([], ["stores"], ["holds", "points"])
    ]
    assert len({report.write_json(result, tmp_path) for result in results}) == len(results)


@pytest.mark.parametrize("scale", [QUICK, NORMAL, FULL], ids=lambda scale: scale.name)
def test_every_target_has_a_figure_that_a_run_makes(scale: Scale) -> None:
    """A target's figure is named as the parts name it (checked on the names, which are written in two places)."""
    assert scale.rounds >= 1
    sources = "".join(
        (report.ROOT / "bench" / f"{name}.py").read_text(encoding="utf-8")
        for name in (
            "by_sql",
            "holds",
            "betting",
            "from_python",
            "batches",
            "folding",
            "checkouts",
            "memory",
            "points",
            "stores",
            "statements",
            "reconciling",
            "imports",
            "merging",
            "doctor",
        )
    )
    for target in targets.TARGETS:
        group = target.figure.split(".")[0]
        assert f'"{group}' in sources, target
