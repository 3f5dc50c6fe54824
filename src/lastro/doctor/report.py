"""
The report: one HTML page that needs nothing else, with the findings on top and every reading on one time axis.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from typing import Final

from lastro.doctor.finding import Finding
from lastro.doctor.readings import Sample

Points = list[tuple[float, float]]
WIDTH, HEIGHT, PAD = 720, 120, 4
# More lines than this in one picture can't be told apart; the highest are drawn.
LINES_MAX: Final = 6
COLOURS: Final = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2")
# Of these the highest is drawn and not each: sessions come and go.
OLDEST: Final = frozenset({"transaction_age"})
# What is drawn, in this order, and what it is called.
CHARTS: Final = {
    "call_p99": "calls of this process, 99th percentile",
    "call_p50": "calls of this process, median",
    "sessions_busy": "sessions at work",
    "sessions_waiting": "sessions that wait for a lock",
    "lock_waits": "waits, by row or table",
    "wait_event": "wait events",
    "transaction_age": "oldest transactions",
    "sessions_idle_in_transaction": "sessions idle in a transaction",
    "pool_waiting": "callers that wait for a connection",
    "pool_longest_wait": "longest wait for a connection",
    "connections": "connections",
    "tail_age": "age of the tail",
    "settlement_age": "age of settlement",
    "outbox_age": "age of the outbox",
    "imports_age": "age of imports",
    "holds_overdue_age": "holds past their deadline",
    "dead_rows": "dead rows",
    "hot_update_share": "updates that stayed on their page",
    "table_bytes": "size of tables",
    "replica_lag": "replicas: lag",
    "replica_behind": "replicas: yet to apply",
    "slot_kept": "WAL kept by slots",
    "checkpoints_requested": "checkpoints by volume, since the server's statistics began",
    "wal_bytes": "WAL, since the server's statistics began",
    "commits": "commits, since the server's statistics began",
    "open_incidents": "open incidents",
}
_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 780px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
.finding { border-left: 4px solid #d97706; background: var(--soft); padding: .5rem .9rem; margin: .7rem 0; }
.critical { border-color: #dc2626; } .notice { border-color: #2563eb; }
.finding p { margin: .25rem 0; overflow-wrap: anywhere; } .well { border-color: #059669; }
svg { display: block; width: 100%; height: auto; background: var(--soft); }
.legend span { margin-right: 1rem; white-space: nowrap; } .legend i { display: inline-block; width: .7em; height: .7em; margin-right: .3em; }
small, .legend { font-size: .82rem; } dt { font-weight: 600; } dd { margin: 0 0 .3rem 0; }
"""


def report(samples: Sequence[Sample], findings: Iterable[Finding], *, title: str = "What the doctor read") -> str:
    """
    Return the page for samples, the oldest first, and what was found in them.
    """
    first, last = samples[0].at, samples[-1].at
    told = "\n".join(_finding(finding) for finding in findings) or _well()
    troubles = "".join(
        f"<dt>{escape(one.name)}</dt><dd>{escape(one.trouble or '')}</dd>" for one in samples[-1].troubles
    )
    unread = f"<h2>What couldn't be read</h2><dl>{troubles}</dl>" if troubles else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style></head>\n<body>\n'
        f"<h1>{escape(title)}</h1>\n<p>{_moment(first)} to {_moment(last)}, {len(samples)} samples; "
        f"every picture has this one time axis.</p>\n{told}\n{unread}\n{charts(samples)}\n</body></html>\n"
    )


def charts(samples: Sequence[Sample]) -> str:
    """
    Return a picture a reading, each over the same span of time; readings that were 0 throughout are left out.
    """
    lines: dict[str, dict[str, Points]] = defaultdict(lambda: defaultdict(list))
    units: dict[str, str] = {}
    began = samples[0].at
    for sample in samples:
        at_s = (sample.at - began).total_seconds()
        for reading in sample.readings:
            if reading.name in CHARTS and reading.trouble is None and isinstance(reading.value, int | float):
                points = lines[reading.name]["the oldest" if reading.name in OLDEST else reading.subject]
                units[reading.name] = reading.unit
                if points and points[-1][0] == at_s:
                    points[-1] = (at_s, max(points[-1][1], reading.value))
                else:
                    points.append((at_s, reading.value))
    span_s = max((samples[-1].at - began).total_seconds(), 1e-9)
    return "\n".join(
        _chart(title, units[name], lines[name], span_s)
        for name, title in CHARTS.items()
        if any(value for points in lines[name].values() for _, value in points)
    )


def _finding(finding: Finding) -> str:
    return (
        f'<div class="finding {finding.severity}"><strong>{escape(finding.code)}</strong> · {escape(finding.severity)} · '
        f"{escape(finding.subject)}<p>{escape(finding.evidence)}</p><p><b>Do:</b> {escape(finding.advice)}</p>"
        f"<p><small><b>Wrong if:</b> {escape(finding.disproved_by)} · {escape(finding.page)}</small></p></div>"
    )


def _well() -> str:
    return '<div class="finding well"><strong>Nothing was found.</strong></div>'


def _chart(title: str, unit: str, lines: dict[str, Points], span_s: float) -> str:
    chosen = sorted(lines.items(), key=lambda line: -max(value for _, value in line[1]))[:LINES_MAX]
    top = max(value for _, points in chosen for _, value in points) or 1.0
    drawn = "".join(
        f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{_points(points, span_s, top)}"/>'
        for colour, (_, points) in zip(COLOURS, chosen, strict=False)
    )
    named = "".join(
        f'<span><i style="background:{colour}"></i>{escape(subject or "all")}: {_figure(points[-1][1])}</span>'
        for colour, (subject, points) in zip(COLOURS, chosen, strict=False)
    )
    more = f" · {len(lines) - len(chosen)} more" if len(lines) > len(chosen) else ""
    return (
        f"<h2>{escape(title)}</h2><small>0 to {_figure(top)} {escape(unit)}, over {span_s:.0f} s{more}</small>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{drawn}</svg>'
        f'<div class="legend">{named}</div>'
    )


def _points(points: Points, span_s: float, top: float) -> str:
    def at(moment_s: float, value: float) -> str:
        x = PAD + moment_s / span_s * (WIDTH - 2 * PAD)
        y = HEIGHT - PAD - value / top * (HEIGHT - 2 * PAD)
        return f"{x:.1f},{y:.1f}"

    # A single point is no line: it is drawn as a short one.
    drawn = points if len(points) > 1 else [*points, (min(points[0][0] + span_s / WIDTH, span_s), points[0][1])]
    return " ".join(at(*point) for point in drawn)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _moment(at: datetime) -> str:
    return escape(at.isoformat(sep=" ", timespec="seconds"))
