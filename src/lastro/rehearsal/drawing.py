"""
Panels over one time axis, as SVG: lines with gaps where there is no value, marks for what happened, a linear or log scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

# Coordinates of the drawing; the page scales it to its width. The same margins everywhere: moments lie below each other.
WIDTH: Final = 860
LEFT: Final = 62
RIGHT: Final = 10
TOP: Final = 8
BOTTOM: Final = 18
COLOURS: Final = 6
TICKS: Final = 8
TIME_STEPS_S: Final = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_200)
LOG_LEAST: Final = 1.0
THOUSAND: Final = 1_000

# A moment in seconds, and a value; None where there is none.
Point = tuple[float, float | None]


class Line(NamedTuple):
    """
    One line of a panel. `dashed` for the run that another one is compared with.
    """

    label: str
    points: Sequence[Point]
    colour: int
    dashed: bool = False


class Mark(NamedTuple):
    """
    A stretch of time to be seen in every panel.
    """

    from_s: float
    until_s: float
    label: str
    kind: str = "burst"


class Hint(NamedTuple):
    """
    What a pointer over a stretch of time is told.
    """

    from_s: float
    until_s: float
    text: str


class Axis(NamedTuple):
    """
    The time axis that all panels of a page share, and what happened on it.
    """

    until_s: float
    marks: Sequence[Mark]

    def x(self, at_s: float) -> float:
        """Return where a moment is drawn."""
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(at_s, 0.0), self.until_s) / self.until_s

    def ticks_s(self) -> list[float]:
        """Return round moments, a handful."""
        step = next((step for step in TIME_STEPS_S if self.until_s / step <= TICKS), TIME_STEPS_S[-1])
        return [number * step for number in range(int(self.until_s / step) + 1)]


def panel(
    axis: Axis, lines: Sequence[Line], *, height: int, log: bool = False, title: str, hints: Sequence[Hint] = ()
) -> str:
    """
    Return one panel as an `<svg>` element. *title* is for those who can't see it.
    """
    values = [value for line in lines for _, value in line.points if value is not None]
    scale = _Scale(values, height, log=log)
    base = height - BOTTOM
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">',
        *_marks(axis, base),
        *_grid(axis, scale, base),
        *(_path(axis, scale, line) for line in lines),
        *(_hint(axis, hint, base) for hint in hints),
        "</svg>",
    ]
    return "\n".join(parts)


class _Scale:
    """The vertical axis: from 0, or in powers of ten from 1."""

    def __init__(self, values: Sequence[float], height: int, *, log: bool) -> None:
        self._log = log
        self._height = height
        top = max(values, default=1.0) or 1.0
        least = min(values, default=0.0)
        self.least = LOG_LEAST if log else min(0.0, least)
        self.most = 10 ** max(1, math.ceil(math.log10(max(top, LOG_LEAST)))) if log else _round_up(top)

    def y(self, value: float) -> float:
        """Return where a value is drawn."""
        room = self._height - TOP - BOTTOM
        if self._log:
            share = math.log10(max(value, self.least) / self.least) / math.log10(self.most / self.least)
        else:
            share = (value - self.least) / (self.most - self.least)
        return TOP + room * (1 - share)

    def ticks(self) -> list[float]:
        """Return the values that get a line."""
        if self._log:
            return [10.0**power for power in range(round(math.log10(self.most)) + 1)]
        return [self.least, (self.least + self.most) / 2, self.most]


def _marks(axis: Axis, base: int) -> Iterator[str]:
    for mark in axis.marks:
        left = axis.x(mark.from_s)
        width = max(1.5, axis.x(mark.until_s) - left)
        yield (
            f'<rect class="mark {mark.kind}" x="{left:.1f}" y="{TOP}" width="{width:.1f}" height="{base - TOP}">'
            f"<title>{escape(mark.label)}</title></rect>"
        )


def _grid(axis: Axis, scale: _Scale, base: int) -> Iterator[str]:
    for value in scale.ticks():
        y = scale.y(value)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="{LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{short(value)}</text>'
    for at_s in axis.ticks_s():
        x = axis.x(at_s)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 4}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{base + 14}" text-anchor="middle">{at_s:g} s</text>'


def _path(axis: Axis, scale: _Scale, line: Line) -> str:
    drawn, pen = [], "M"
    for at_s, value in line.points:
        if value is None:
            pen = "M"
            continue
        drawn.append(f"{pen}{axis.x(at_s):.1f} {scale.y(value):.1f}")
        pen = "L"
    kind = f"line c{line.colour % COLOURS}{' dashed' if line.dashed else ''}"
    return f'<path class="{kind}" d="{" ".join(drawn)}"><title>{escape(line.label)}</title></path>'


def _hint(axis: Axis, hint: Hint, base: int) -> str:
    left, right = axis.x(hint.from_s), axis.x(hint.until_s)
    return (
        f'<rect class="hint" x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" height="{base - TOP}">'
        f"<title>{escape(hint.text)}</title></rect>"
    )


def _round_up(value: float) -> float:
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= value * (1 - 1e-9))


def short(value: float) -> str:
    """
    Return a value as it stands at an axis: 1,500 as 1.5k.
    """
    for size, letter in ((THOUSAND**3, "G"), (THOUSAND**2, "M"), (THOUSAND, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
