# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The pictures of docs/claims.md as SVG text: effects with their intervals beside the smallest effect that counts.

All are white cards, so that they look the same on light and dark pages, and `WIDTH` pixels wide, so that their letters
have ten pixels or more on a telephone of 390 pixels. The same records make the same files.
"""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from hf_lecture_models.lab.claims.claim import Claim
from hf_lecture_models.lab.claims.effect import Effect
from hf_lecture_models.lab.claims.report import (
    NOT_MEASURED,
    case_verdicts,
    interval,
    least_of,
    recorded_cases,
    recorded_verdict,
    rounded,
)
from hf_lecture_models.lab.claims.rule import CONFIRMED, DEPENDS, EQUIVALENT, OPEN, REFUTED, UNDECIDED, outcome_of

WIDTH, MARGIN = 460, 14
LETTERS = 14
_LETTER = 0.57 * LETTERS  # the width of a letter, of wide fonts
_LINE = LETTERS + 5
_STRIP = 22  # the height of a row's interval
FAR = 12
"""The axis is logarithmic outside of the band if an interval reaches so many times the smallest effect that counts."""
_WIDE = 8  # a curve's axis is logarithmic if its ends differ by a larger factor
_CURVE = 240  # the height of a curve

MARKS = {
    CONFIRMED: ("#1a7f37", "M-6-6H6V6H-6z"),
    REFUTED: ("#b3261e", "M0-8 8 0 0 8-8 0z"),
    EQUIVALENT: ("#1f5fae", "M-6.5 0a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0-13 0z"),
    UNDECIDED: ("#666666", "M0-7 7 6H-7z"),
    DEPENDS: ("#7a3e9d", "M-7-2.5h4.5v-4.5h5v4.5h4.5v5h-4.5v4.5h-5v-4.5h-4.5z"),
}
"""The colour and the shape of each verdict."""
_DASHES = ("", "7 4", "2 3", "9 3 2 3")
_STYLE = (
    ".band{fill:#dde3ea}.grid{stroke:#d5d5d5}.zero{stroke:#888}.axis,.curve{stroke:#555;fill:none}"
    ".curve{stroke-width:1.5}.end{text-anchor:end}.middle{text-anchor:middle}.head{font-weight:bold}.note{fill:#444}"
    ".interval{stroke-width:2.5;fill:none}.mark{stroke-width:2}"
)


@dataclass(frozen=True)
class Scale:
    """Pixels of values on an axis.

    >>> linear, far = Scale(-10, 30, 0, 400), Scale(-100, 100, 0, 400, linear=1)
    >>> linear(0), far(0), far(-100), far(1) - far(0) < far(10) - far(1)
    (100.0, 200.0, 0.0, True)

    Attributes:
        low, high: the values at the ends.
        start, end: the pixels at the ends.
        linear: up to this size values are linear, above logarithmic; infinite: all are linear; 0: all are logarithmic.
    """

    low: float
    high: float
    start: float
    end: float
    linear: float = math.inf

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high, place = (self._bent(one) for one in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (place - low) / (high - low)

    def _bent(self, value: float) -> float:
        if self.linear == 0:
            return math.log(value)
        if abs(value) <= self.linear:
            return value if math.isinf(self.linear) else value / self.linear
        return math.copysign(1 + math.log(abs(value) / self.linear), value)

    def ticks(self, room: float = 0.0, values: Sequence[float] = ()) -> list[float]:
        """Return values that are so many pixels apart that their labels do not meet.

        Args:
            room: the pixels of each label; 0: the width of its letters.
            values: the only possible ones, from the most to the least important; empty: round ones.
        """
        kept: list[float] = []
        for value in values or self._candidates():
            inside = self.low <= value <= self.high
            if inside and all(
                abs(self(value) - self(one)) >= (room or _LETTER * (len(number(value)) + len(number(one))) / 2 + 9)
                for one in kept
            ):
                kept.append(value)
        return sorted(kept)

    def _candidates(self) -> list[float]:
        """Return values from the most to the least important."""
        powers = range(-6, 9)
        if self.linear == 0:
            return [digit * 10.0**power for digit in (1, 3, 2, 5) for power in powers]
        if math.isinf(self.linear):
            rough = (self.high - self.low) / 5
            size = 10.0 ** math.floor(math.log10(rough))
            step = next(size * digit for digit in (1, 2, 5, 10) if size * digit >= rough * 0.999)
            return [step * count for count in range(math.floor(self.low / step), math.ceil(self.high / step) + 1)]
        far = [digit * 10.0**power for digit in (1, 3) for power in powers if 10.0**power * digit > self.linear]
        return [0.0, self.linear, -self.linear, *(sign * value for value in far for sign in (1, -1))]


def scale_of(values: Sequence[float], least: float, start: float, end: float) -> Scale:
    """Return the scale of effects, which shows all values, 0 and the band of the smallest effect that counts."""
    low, high = min(*values, -least), max(*values, least)
    far = _is_far(values, least)
    beside = 1.12 if far else 1.0
    room = 0.0 if far else 0.04 * (high - low)
    return Scale(low * beside - room, high * beside + room, start, end, least if far else math.inf)


def _is_far(values: Iterable[float], least: float) -> bool:
    return any(abs(value) > FAR * least for value in values)


@dataclass
class Canvas:
    """The elements that are drawn so far, and the height that they take."""

    title: str
    height: float = MARGIN
    lines: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Write a line of text from x on; up to x if its kind is "end", around it if "middle"; y is its baseline."""
        self.lines.append(f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}">{escape(text, quote=False)}</text>')

    def path(self, points: str, kind: str, more: str = "") -> None:
        """Draw a line."""
        self.lines.append(f'<path class="{kind}" d="{points}"{more}/>')

    def band(self, x: float, y: float, width: float, height: float) -> None:
        """Draw the band of the effects that do not count."""
        self.lines.append(f'<rect class="band" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"/>')

    def mark(self, x: float, y: float, verdict: str, filled: bool = True) -> None:
        """Draw the shape of a verdict around a point."""
        kind = f"mark {verdict}" if filled else f"mark {verdict} hollow"
        self.path(MARKS[verdict][1], kind, f' transform="translate({_n(x)} {_n(y)})"')

    def write(self, lines: Iterable[str], kind: str = "note") -> None:
        """Write a paragraph across the picture, below all else."""
        for line in lines:
            for part in _wrapped(line, WIDTH - 2 * MARGIN):
                self.height += _LINE
                self.text(MARGIN, self.height - 5, part, kind)

    def svg(self, description: str) -> str:
        """Return the picture.

        Args:
            description: all that the picture shows, in words.
        """
        height = _n(self.height + MARGIN)
        colours = "".join(
            f".{name}{{fill:{colour}}}path.{name}{{stroke:{colour}}}" for name, (colour, _) in MARKS.items()
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                f'height="{height}" font-family="system-ui,sans-serif" font-size="{LETTERS}" fill="#111" role="img" '
                'aria-labelledby="title description">',
                f'<title id="title">{escape(self.title)}</title>',
                f'<desc id="description">{escape(description)}</desc>',
                f"<style>{colours}{_STYLE}.mark.hollow{{fill:#fff}}</style>",
                f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{_n(self.height + MARGIN - 1)}" rx="10" '
                'fill="#fff" stroke="#bbb"/>',
                *self.lines,
                "</svg>",
                "",
            ]
        )


@dataclass(frozen=True)
class Row:
    """A case as it is drawn.

    Attributes:
        name: that of the case.
        effect: what was found.
        least: the smallest effect that counts.
        verdict: the one on this case.
        decides: whether the claim's verdict follows from it.
        at: its place on the axis of the claim's variable.
    """

    name: str
    effect: Effect
    least: float
    verdict: str
    decides: bool
    at: float | None


def rows_of(claim: Claim, p_values: Mapping[tuple[str, str], float]) -> list[Row]:
    """Return the recorded cases of a claim."""
    verdicts, rows = case_verdicts(claim, p_values), []
    for name, found in recorded_cases(claim).items():
        case, effect = claim.experiment.cases[name], Effect(**found["effect"])
        rows.append(Row(name, effect, least_of(claim, name), verdicts[name], case.decides, case.at))
    return rows


def draw_claim(claim: Claim, p_values: Mapping[tuple[str, str], float]) -> str:
    """Return the picture of a claim with a record: a row for each case, or curves where three cases have an `at`."""
    rows = rows_of(claim, p_values)
    points = [row for row in rows if row.at is not None] if claim.variable else []
    if len(points) < 3:
        points = []
    canvas = Canvas(f"{claim.id}: {claim.sentence}")
    if points:
        _draw_curves(canvas, points, claim)
        rows = [row for row in rows if row not in points]
    if rows:
        _draw_rows(canvas, rows)
        canvas.write([claim.unit], "head")
    shown = [*points, *rows]
    notes = _notes(claim, shown, "Above" if points else "Right of")
    canvas.write(notes)
    described = [f"{row.name}: {interval(row.effect)}, {row.verdict}." for row in shown]
    return canvas.svg(" ".join([f"Effects in {claim.unit}.", *described, *notes]))


def _notes(claim: Claim, rows: Sequence[Row], side: str) -> list[str]:
    """Return what the picture does not say by itself.

    Args:
        side: where effects above 0 are.
    """
    least = sorted({row.least for row in rows})
    arms = {tuple(claim.experiment.cases[row.name].arms) for row in rows}
    notes = [f"Grey: too small to count, {' or '.join(f'{one:g}' for one in least)} at most."]
    if len(arms) == 1:
        ((first, second),) = arms
        notes.append(f"{side} 0: more for {first} than for {second}.")
    else:
        notes.append(f"{side} 0: more for the first arm of the table.")
    if claim.fact:
        notes.append("A fact: a line goes from the smallest to the largest difference.")
    if any(row.verdict == UNDECIDED and outcome_of(row.effect, row.least) != OPEN for row in rows):
        notes.append("Undecided with a clear interval: p (Holm) is over 5 %.")
    if not all(row.decides for row in rows):
        notes.append("Hollow: does not decide the claim.")
    if any(_is_far((row.effect.low, row.effect.high), min(least)) for row in rows):
        smallest = "smallest " if len(least) > 1 else ""
        notes.append(f"Outside of the {smallest}band the axis is logarithmic.")
    return notes


def _draw_rows(canvas: Canvas, rows: Sequence[Row]) -> None:
    """Draw a row for each case: its name and verdict, and below them its interval."""
    ends = [value for row in rows for value in (row.effect.low, row.effect.high, row.least, -row.least)]
    scale = scale_of(ends, min(row.least for row in rows), MARGIN + 8, WIDTH - MARGIN - 8)
    for row in rows:
        found = f"{signed(row.effect.mean)}  {row.verdict}"
        names = _wrapped(row.name, WIDTH - 2 * MARGIN - _LETTER * (len(found) + 2))
        canvas.text(WIDTH - MARGIN, canvas.height + _LINE - 5, found, f"end {row.verdict}")
        for name in names:
            canvas.height += _LINE
            canvas.text(MARGIN, canvas.height - 5, name, "case")
        _draw_interval(canvas, scale, row.effect, row.least, row.verdict, row.decides)
        canvas.height += _STRIP + 8
    _draw_axis(canvas, scale)


def _draw_interval(canvas: Canvas, scale: Scale, effect: Effect, least: float, verdict: str, filled: bool) -> None:
    """Draw the band, and in it the interval and the mean, in a strip of the picture's width."""
    top, middle = canvas.height, canvas.height + _STRIP / 2
    canvas.band(scale(-least), top, scale(least) - scale(-least), _STRIP)
    canvas.path(f"M{_n(scale(0))} {_n(top)}v{_STRIP}", "zero")
    canvas.path(f"M{_n(scale(effect.low))} {_n(middle)}H{_n(scale(effect.high))}", f"interval {verdict}")
    canvas.mark(scale(effect.mean), middle, verdict, filled)


def _draw_axis(canvas: Canvas, scale: Scale, values: Sequence[float] = ()) -> None:
    canvas.path(f"M{_n(scale.start)} {_n(canvas.height)}H{_n(scale.end)}", "axis")
    for value in scale.ticks(values=values):
        canvas.path(f"M{_n(scale(value))} {_n(canvas.height)}v5", "axis")
        canvas.text(scale(value), canvas.height + _LINE + 1, number(value), "middle tick")
    canvas.height += _LINE + 6


def _draw_curves(canvas: Canvas, points: Sequence[Row], claim: Claim) -> None:
    """Draw the effect against the claim's variable, a line for each group of cases that differ in nothing else."""
    groups: dict[str, list[Row]] = {}
    for row in points:
        groups.setdefault(row.name.rpartition(",")[0], []).append(row)
    canvas.write([claim.unit], "head")
    for number_of_group, name in enumerate(groups):
        if len(groups) > 1:
            canvas.height += _LINE
            canvas.path(f"M{MARGIN} {_n(canvas.height - 9)}h34", "curve", _dash(number_of_group))
            canvas.text(MARGIN + 42, canvas.height - 5, name or "others", "group")
    _draw_legend(canvas, [row.verdict for row in points])
    top = canvas.height + 8
    ends = [value for row in points for value in (row.effect.low, row.effect.high, row.least, -row.least)]
    up = scale_of(ends, min(row.least for row in points), top + _CURVE, top)
    wide = max(len(number(value)) for value in up.ticks(_LINE)) * _LETTER
    places = [float(row.at or 0.0) for row in points]
    across = _across(places, MARGIN + wide + 22, WIDTH - MARGIN - 14)
    _draw_field(canvas, points, across, up)
    for number_of_group, group in enumerate(groups.values()):
        group.sort(key=lambda row: row.at or 0.0)
        dots = [(across(row.at or 0.0), up(row.effect.mean)) for row in group]
        canvas.path("M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in dots), "curve", _dash(number_of_group))
        for row, (x, y) in zip(group, dots, strict=True):
            canvas.path(f"M{_n(x)} {_n(up(row.effect.low))}V{_n(up(row.effect.high))}", f"interval {row.verdict}")
            canvas.mark(x, y, row.verdict, row.decides)
    canvas.height = top + _CURVE
    _draw_axis(canvas, across, sorted(set(places)))
    canvas.write([claim.variable], "head")
    canvas.height += 6


def _draw_field(canvas: Canvas, points: Sequence[Row], across: Scale, up: Scale) -> None:
    """Draw the ground of the curves: the band, the line of no effect, and the values at the left side."""
    left, right = across.start - 14, across.end + 14
    least: dict[float, float] = {}
    for row in points:
        least[row.at or 0.0] = max(row.least, least.get(row.at or 0.0, 0.0))
    ordered = sorted(least.items())
    border = [(left, ordered[0][1]), *((across(at), one) for at, one in ordered), (right, ordered[-1][1])]
    edge = [(x, up(one)) for x, one in border] + [(x, up(-one)) for x, one in reversed(border)]
    canvas.path("M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in edge) + "z", "band")
    for value in up.ticks(_LINE):
        canvas.path(f"M{_n(left)} {_n(up(value))}H{_n(right)}", "grid" if value else "zero")
        canvas.text(left - 6, up(value) + 5, number(value), "end level")


def _across(places: Sequence[float], start: float, end: float) -> Scale:
    low, high = min(places), max(places)
    if low == high:
        low, high = low - 1, high + 1
    return Scale(low, high, start, end, 0 if low > 0 and high > _WIDE * low else math.inf)


def _draw_legend(canvas: Canvas, verdicts: Iterable[str]) -> None:
    """Draw the shapes of the verdicts that occur."""
    canvas.height += _LINE
    x, there = float(MARGIN), set(verdicts)
    for verdict in (one for one in MARKS if one in there):
        canvas.mark(x + 8, canvas.height - 10, verdict)
        canvas.text(x + 20, canvas.height - 5, verdict, f"legend {verdict}")
        x += 36 + len(verdict) * 7.6
    canvas.height += 6


def draw_all(parts: Mapping[str, Sequence[Claim]], p_values: Mapping[tuple[str, str], float]) -> str:
    """Return the picture of all claims: of each the deciding case that is nearest to the border of its verdict.

    Args:
        parts: the claims of each lecture.
    """
    canvas = Canvas("All claims of the lectures, in units of the smallest effect that counts")
    nearest = {claim.id: nearest_row(claim, p_values) for claims in parts.values() for claim in claims}
    ends = [end / row.least for row in nearest.values() if row for end in (row.effect.low, row.effect.high)]
    names = [_name(claim) for claims in parts.values() for claim in claims]
    start = MARGIN + _LETTER * max(map(len, names)) + 10
    scale = scale_of(ends or [0.0], 1.0, start, WIDTH - MARGIN - 8)
    found = {claim.id: recorded_verdict(claim, p_values) for claims in parts.values() for claim in claims}
    _draw_legend(canvas, found.values())
    described = []
    for part, claims in parts.items():
        canvas.write([part], "head")
        for claim in claims:
            canvas.text(MARGIN, canvas.height + 16, _name(claim), "claim")
            described.append(f"{claim.id}: {found[claim.id]}.")
            if row := nearest[claim.id]:
                _draw_interval(canvas, scale, _in_leasts(row), 1.0, found[claim.id], True)
            else:
                canvas.text(start, canvas.height + 16, NOT_MEASURED, "note")
            canvas.height += _STRIP
    canvas.height += 2
    _draw_axis(canvas, scale)
    canvas.write(["The effect, divided by the smallest that counts"], "head")
    if scale.linear == 1:
        canvas.write(["Outside of the grey band the axis is logarithmic."])
    return canvas.svg(" ".join(described))


def nearest_row(claim: Claim, p_values: Mapping[tuple[str, str], float]) -> Row | None:
    """Return the deciding case whose interval is nearest to the border of the band, or over it; None: no record."""
    rows = [row for row in rows_of(claim, p_values) if row.decides]
    return min(rows, key=lambda row: _room(row.effect, row.least) / row.least, default=None)


def _room(effect: Effect, least: float) -> float:
    """Return how far the interval is from the borders, below 0 if it is over one."""
    return max(effect.low - least, -least - effect.high, min(effect.low + least, least - effect.high))


def _in_leasts(row: Row) -> Effect:
    mean, low, high = (value / row.least for value in (row.effect.mean, row.effect.low, row.effect.high))
    return Effect(mean, low, high, 0.0, 0.0, row.effect.seeds, row.effect.items, row.effect.clusters)


def _name(claim: Claim) -> str:
    return f"{claim.id} (fact)" if claim.fact else claim.id


def _wrapped(text: str, width: float) -> list[str]:
    return textwrap.wrap(text, int(width / _LETTER)) or [""]


def _dash(number_of_group: int) -> str:
    dash = _DASHES[number_of_group % len(_DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def signed(value: float) -> str:
    """Return a number with its sign.

    >>> signed(1.25), signed(-0.5)
    ('+1.2', '−0.5')
    """
    return f"{'+' if value > 0 else ''}{rounded(value)}".replace("-", "−")


def number(value: float) -> str:
    """Return a round number as an axis shows it.

    >>> number(-20.0), number(0.30000000000000004)
    ('−20', '0.3')
    """
    return f"{value:,.12g}".replace("-", "−")


def _n(pixels: float) -> str:
    return f"{pixels:.1f}".removesuffix(".0")
