"""
The report of a rehearsal: one HTML page that needs nothing else, no script and no network, drawn from its document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from lastro.errors import InvalidInput
from lastro.rehearsal.comparing import compared
from lastro.rehearsal.drawing import COLOURS, Axis, Hint, Line, Mark, panel
from lastro.rehearsal.report_style import STYLE

Document = Mapping[str, Any]
LATENCY_HEIGHT: Final = 200
HEIGHT: Final = 92
OTHER: Final = "the other run"
_PERCENTILES: Final = (("p50_ms", "p50"), ("p95_ms", "p95"), ("p99_ms", "p99"), ("max_ms", "longest"))
_COMPARED: Final = ("p50_ms", "p99_ms")
_WORDS: Final = {
    "passed": "Passed: every criterion is kept.",
    "failed": "Failed.",
    "inconclusive": "Inconclusive: this machine could not make the load.",
}
_EVENT_KINDS: Final = {"a transaction left open": "idle", "the server was killed and started again": "crash"}


def write_report(path: Path, document: Document, *, against: Document | None = None) -> None:
    """
    Write the page of a run to *path*, beside another run of the same scenario where there is one. Raises InvalidInput.
    """
    try:
        path.write_text(page(document, against=against), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"the report can't be written to {path}: {error}", argument="report") from error


def page(document: Document, *, against: Document | None = None) -> str:
    """
    Return the page of a run.
    """
    axis = _axis(document)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>Rehearsal of {escape(document['scenario'])}: {escape(document['verdict'])}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        *_head(document),
        '<div class="columns">',
        "<main>",
        *_criteria(document),
        *(_comparison(document, against) if against is not None else ()),
        *_charts(document, axis, against),
        "</main>",
        "<aside>",
        *_findings(document),
        *_figures(document),
        *_programme(document),
        "</aside>",
        "</div>",
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _axis(document: Document) -> Axis:
    ends = [document["programme"]["seconds"], *(event["until_s"] for event in document["events"])]
    ends += [line["points"][-1][0] for line in document["readings"] if line["points"]]
    marks = [
        Mark(event["at_s"], event["until_s"], event["what"], _EVENT_KINDS.get(event["what"], "burst"))
        for event in document["events"]
    ]
    return Axis(max(ends), marks)


def _head(document: Document) -> Iterator[str]:
    verdict = document["verdict"]
    yield f'<header class="{escape(verdict)}">'
    planted = f", with a fault planted: {document['planted']}" if document["planted"] else ""
    yield f"<h1>Rehearsal of {escape(document['scenario'])}{escape(planted)}</h1>"
    yield f'<p class="verdict">{escape(_WORDS[verdict])}</p>'
    if document["reasons"]:
        yield "<ul>"
        yield from (f"<li>{escape(reason)}</li>" for reason in document["reasons"])
        yield "</ul>"
    programme = document["programme"]
    yield (
        f'<p class="what">{programme["rate"]:g} {escape(document["waits_for"])}s a second for {programme["seconds"]:g} s '
        f"from {programme['clients']} clients in {programme['processes']} processes, seed {programme['seed']}. "
        f"Ended {escape(document['ended_at'])}.</p>"
    )
    for event in document["events"]:
        yield f'<p class="what">{event["at_s"]:.1f} to {event["until_s"]:.1f} s: {escape(event["what"])}</p>'
    yield "</header>"


def _criteria(document: Document) -> Iterator[str]:
    yield "<section>"
    source = document["criteria_from"]
    yield f"<h2>Criteria <small>{'by default' if source == 'default' else escape(source)}</small></h2>"
    yield '<table class="criteria">'
    yield "<thead><tr><th></th><th>Criterion</th><th>At most</th><th>Measured</th><th>In words</th></tr></thead><tbody>"
    for criterion in document["criteria"]:
        holds = "yes" if criterion["holds"] else "no"
        yield (
            f'<tr class="{holds}"><td class="holds">{"✓" if criterion["holds"] else "✗"}</td>'
            f"<td><code>{escape(criterion['name'])}</code></td>"
            f'<td class="number">{_shown(criterion["limit"])}</td><td class="number">{_shown(criterion["actual"])}</td>'
            f"<td>{escape(criterion['note'])}</td></tr>"
        )
    yield "</tbody></table></section>"


def _comparison(document: Document, against: Document) -> Iterator[str]:
    lines = list(compared(against, document))
    counts = {word: sum(line.direction == word for line in lines) for word in ("better", "worse")}
    yield "<section>"
    yield f"<h2>Against the run of {escape(against['ended_at'])} <small>{escape(against['verdict'])}; dashed below</small></h2>"
    yield f"<details><summary>{counts['better']} figures are better, {counts['worse']} are worse</summary>"
    yield "<table><thead><tr><th>Figure</th><th>Then</th><th>Now</th><th>Change</th></tr></thead><tbody>"
    for line in lines:
        yield (
            f'<tr><td>{escape(line.name)}</td><td class="number">{_shown(line.before)}</td>'
            f'<td class="number">{_shown(line.after)}</td><td class="number {line.direction}">{escape(line.change)}</td></tr>'
        )
    yield "</tbody></table></details></section>"


def _charts(document: Document, axis: Axis, against: Document | None) -> Iterator[str]:
    yield "<section>"
    yield "<h2>On one time axis</h2>"
    yield from _latency(document, axis, against)
    yield from _throughput(document, axis)
    resting: list[str] = []
    for name, group in groupby(document["readings"], key=lambda line: line["name"]):
        lines = list(group)
        drawn = list(_reading(name, lines, axis, against))
        if any(_moves(line) for line in lines):
            yield from drawn
        else:
            resting += drawn
    if resting:
        yield "<details><summary>Readings that did not move</summary>"
        yield from resting
        yield "</details>"
    yield "</section>"


def _latency(document: Document, axis: Axis, against: Document | None) -> Iterator[str]:
    stretches = document["stretches"]
    lines = [
        Line(label, [(stretch["at_s"], stretch[name]) for stretch in stretches], colour)
        for colour, (name, label) in enumerate(_PERCENTILES)
    ]
    if against is not None:
        lines += [
            Line(
                OTHER,
                [(stretch["at_s"], stretch[name]) for stretch in against["stretches"]],
                colour,
                dashed=True,
            )
            for colour, (name, label) in enumerate(_PERCENTILES)
            if name in _COMPARED
        ]
    wide = stretches[1]["at_s"] - stretches[0]["at_s"] if len(stretches) > 1 else axis.until_s
    hints = [
        Hint(
            stretch["at_s"],
            stretch["at_s"] + wide,
            f"{stretch['at_s']:.1f} s: {stretch['arrivals']} arrivals, {stretch['errors']} errors; "
            + ", ".join(f"{label} {_shown(stretch[name])} ms" for name, label in _PERCENTILES),
        )
        for stretch in stretches
    ]
    title = f"Latency of a {document['waits_for']}, from its intended start"
    yield _figure(
        title, "ms, logarithmic", lines, panel(axis, lines, height=LATENCY_HEIGHT, log=True, title=title, hints=hints)
    )


def _throughput(document: Document, axis: Axis) -> Iterator[str]:
    stretches = document["stretches"]
    wide = stretches[1]["at_s"] - stretches[0]["at_s"] if len(stretches) > 1 else document["programme"]["seconds"]
    lines = [
        Line("arrivals", [(one["at_s"], one["arrivals"] / wide) for one in stretches], 0),
        Line("errors", [(one["at_s"], one["errors"] / wide) for one in stretches], 3),
    ]
    title = f"{document['waits_for'].capitalize()}s"
    yield _figure(title, "a second, when they were due", lines, panel(axis, lines, height=HEIGHT, title=title))


def _reading(name: str, readings: Sequence[Document], axis: Axis, against: Document | None) -> Iterator[str]:
    lines = [Line(one["subject"] or name, _points(one), colour) for colour, one in enumerate(readings)]
    if against is not None:
        others = {(one["name"], one["subject"]): one for one in against["readings"]}
        for colour, one in enumerate(readings):
            other = others.get((name, one["subject"]))
            if other is not None:
                lines.append(Line(OTHER, _points(other), colour, dashed=True))
    title = name.replace("_", " ")
    named = len(readings) > 1 or readings[0]["subject"]
    legend = [line for line in lines if named or line.dashed]
    yield _figure(title, readings[0]["unit"], legend, panel(axis, lines, height=HEIGHT, title=title))


def _figure(title: str, unit: str, legend: Sequence[Line], drawn: str) -> str:
    # The other run's lines have the colours of this one's, so one key says it for all of them.
    told = [line for line in legend if not line.dashed] + [line for line in legend if line.dashed][:1]
    keys = "".join(
        f'<span class="key{" dashed" if line.dashed else f" c{line.colour % COLOURS}"}">{escape(line.label)}</span>'
        for line in told
    )
    return f"<figure><figcaption><b>{escape(title)}</b> <small>{escape(unit)}</small>{keys}</figcaption>\n{drawn}\n</figure>"


def _findings(document: Document) -> Iterator[str]:
    yield "<section>"
    yield "<h2>What the doctor found</h2>"
    if not document["findings"]:
        yield "<p>Nothing.</p>"
    for finding in document["findings"]:
        yield f'<article class="{escape(finding["severity"])}">'
        yield f"<h3>{escape(finding['code'].replace('_', ' '))}: {escape(finding['subject'])}</h3>"
        when = f"during {finding['phase']}, from {finding['from_s']:.1f} to {finding['until_s']:.1f} s"
        yield f'<p class="what">{escape(finding["severity"])}, {escape(when)}</p>'
        yield f"<p>{escape(finding['evidence'])}</p>"
        yield f"<p><b>What to do.</b> {escape(finding['advice'])}</p>"
        yield f"<p><b>What would disprove it.</b> {escape(finding['disproved_by'])}</p>"
        yield f'<p class="what">{escape(finding["page"])}</p>'
        yield "</article>"
    if document["unread"]:
        yield "<h3>What could not be read</h3><ul>"
        yield from (f"<li>{escape(trouble)}</li>" for trouble in document["unread"])
        yield "</ul>"
    yield "</section>"


def _figures(document: Document) -> Iterator[str]:
    yield "<section>"
    yield "<h2>Figures</h2>"
    yield f"<table><thead><tr><th>{escape(document['waits_for'])}s, ms</th>"
    yield "".join(f"<th>{label}</th>" for _, label in _PERCENTILES) + "<th>number</th></tr></thead><tbody>"
    for phase, times in document["phases"].items():
        cells = "".join(f'<td class="number">{_shown(times[name])}</td>' for name, _ in _PERCENTILES)
        yield f'<tr><td>{escape(phase)}</td>{cells}<td class="number">{times["visits"]:,}</td></tr>'
    yield "</tbody></table>"
    yield from _pairs(document["measured"])
    generator = document["generator"]
    yield (
        f'<p class="what">The generator took {generator["cpu_share"]:.1%} of a processor'
        f"{'' if generator['held'] else ' and could not hold its rate'}.</p>"
    )
    yield "</section>"


def _programme(document: Document) -> Iterator[str]:
    yield "<section>"
    yield "<h2>Programme</h2>"
    yield from _pairs(document["programme"])
    yield "</section>"


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    yield "<table><tbody>"
    for name, value in values.items():
        said = (
            ", ".join(f"{key} {count}" for key, count in value.items()) or "none"
            if isinstance(value, Mapping)
            else _shown(value)
        )
        yield f'<tr><td>{escape(name.replace("_", " "))}</td><td class="number">{escape(said)}</td></tr>'
    yield "</tbody></table>"


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _points(reading: Document) -> list[tuple[float, float | None]]:
    return [(at_s, value) for at_s, value in reading["points"]]


def _moves(reading: Document) -> bool:
    return len({value for _, value in reading["points"]}) > 1


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return str(value)
