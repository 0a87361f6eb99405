# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The items of a picture, from top to bottom, and how each one is drawn.

`draw` of an item draws it into a column of a given width, and returns its height.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from docs._site.pictures.lettering import LETTERS, with_scripts, wrapped
from docs._site.pictures.recording import Recording

WIDTH, MARGIN = 480, 14
ARROW = 18
FILLS = {
    "Embedding": "#dfeafb",
    "Positions": "#dfeafb",
    "Attention": "#fde8cf",
    "Norm": "#f0f0f0",
    "LSTM": "#eadff7",
    "Lstm": "#eadff7",
    "Graves": "#eadff7",
    "GRU": "#eadff7",
    "Recurrent": "#eadff7",
    "Parameter": "#dfeafb",
    "Buffer": "#dfeafb",
}
"""The colour of a box by the first of these words in its class; others are green."""
OTHER_FILL = "#dff2e1"
# A sum is broken before a plus.
PLUS = " +\u00a0"


@dataclass
class Canvas:
    """The elements that are drawn so far.

    Attributes:
        recording: the shapes and sizes.
        lines: SVG elements.
        places: left, top, width and height of each box and block, by its path.
        below: the shape at the end of what was drawn last; None if it is not known, () if it is shown already.
    """

    recording: Recording
    lines: list[str] = field(default_factory=list)
    places: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    below: tuple[int, ...] | None = None

    def text(self, x: float, y: float, text: str, kind: str, anchor: str = "") -> None:
        """Write a line of text around x, from x on with `anchor` start, or up to x with end; y is its baseline."""
        start, shown = f' text-anchor="{anchor}"' if anchor else "", escape(text, quote=False)
        if kind == "formula":
            shown = with_scripts(shown)
        self.lines.append(f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}"{start}>{shown}</text>')

    def path(self, points: str, tip: bool = True) -> None:
        """Draw a line, with an arrow's tip at its end."""
        end = ' marker-end="url(#tip)"' if tip else ""
        self.lines.append(f'<path class="line" d="{points}"{end}/>')

    def arrow(self, x: float, y: float, following: "Item", width: float) -> float:
        """Draw an arrow downwards to the item that follows, beside it the shape that goes along; return its height."""
        sizes = following.reads(self.recording) if self.below is None else self.below
        label = self.recording.shape(sizes) if sizes and not isinstance(following, Data) else ""
        lines = wrapped(label, "code", width / 2 - 8) if label else []
        height = ARROW + 15 * len(lines)
        self.path(f"M{_n(x)} {_n(y)}v{height - 1}")
        for number, line in enumerate(lines):
            self.text(x + 8, y + 19 + 14 * number, line, "code", "start")
        return height


@dataclass(frozen=True)
class Item(ABC):
    """A part of a picture."""

    starts = False
    """True for an input, which has no arrow above it."""

    @abstractmethod
    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> float:
        """Draw it into a column, and return its height."""

    def boxes(self) -> "Iterator[Box]":
        """Return all boxes within."""
        yield from ()

    def formulas(self) -> Iterator[str]:
        """Return all formulas within."""
        yield from ()

    def reads(self, recording: Recording) -> tuple[int, ...] | None:
        """Return the shape that it reads, None where it is not known."""
        return None


@dataclass(frozen=True)
class Data(Item):
    """An input or an output of the model: words, and a shape.

    Args:
        title: what it is.
        key: the name of an argument of `forward`, or of an output.
        starts: nothing comes before it.
    """

    title: str
    key: str
    starts: bool = True

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> float:
        """Draw a frame with round ends."""
        sizes = canvas.recording.texts[self.key]
        texts = [(line, "title") for line in wrapped(self.title, "title", width - 30)]
        code = f"{self.key} {canvas.recording.shape(sizes)}"
        texts += [(line, "code") for line in wrapped(code, "code", width - 12)]
        height = _draw_texts(canvas, texts, x, y, width, fill="#ffffff", radius=17)
        canvas.places[self.key], canvas.below = (x, y, width, height), ()
        return height

    def reads(self, recording: Recording) -> tuple[int, ...] | None:
        """Return None: its frame has its shape."""
        return None


@dataclass(frozen=True)
class Step(Item):
    """A function without numbers of its own, such as a softmax."""

    formula: str
    from_file: bool = False
    """True for an equation, which the model's files must have."""

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> float:
        """Draw the words in a frame of dashes."""
        canvas.below = None
        texts = [(line, "formula") for line in wrapped(self.formula, "formula", width - 20)]
        return _draw_texts(canvas, texts, x, y, width, fill="#ffffff", radius=4, dashes=True)

    def formulas(self) -> Iterator[str]:
        """Return the words, if they are an equation."""
        yield from [self.formula] if self.from_file else []


@dataclass(frozen=True)
class Plus(Item):
    """The sum of what comes in."""

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> float:
        """Draw a plus in a circle."""
        canvas.below = None
        _plus(canvas, x + width / 2, y + 10)
        return 20


@dataclass(frozen=True)
class Box(Item):
    """A module, or a parameter or buffer, with the sizes of all numbers that it holds.

    Args:
        path: its path from the root of the model.
        title: what it is, in words.
        formula: what it computes; an equation of the model's files.
        loop: what it hands to itself for the next token.
        also: paths of further modules, or where `path` is a parameter or buffer of further ones.
    """

    path: str
    title: str
    formula: str = ""
    loop: str = ""
    also: tuple[str, ...] = ()

    def boxes(self) -> "Iterator[Box]":
        """Return the box."""
        yield self

    def formulas(self) -> Iterator[str]:
        """Return the formula."""
        yield from [self.formula] if self.formula else []

    def reads(self, recording: Recording) -> tuple[int, ...] | None:
        """Return the shape of the module's first argument."""
        return recording.read.get(self.path)

    def sizes(self, recording: Recording) -> dict[str, list[str]]:
        """Return, for each part that holds numbers, how many each parameter and buffer has."""
        parts = dict[str, list[str]]()
        for path in (self.path, *self.also):
            outer = path if path == self.path else path.rpartition(".")[0].rpartition(".")[0]
            for name, one in recording.tensors(path).items():
                part = name.removeprefix(f"{outer}.").rpartition(".")[0]
                part = name.rpartition(".")[2] if name in (self.path, *self.also) else part
                shared = " (shared)" if recording.owner(name) else ""
                parts.setdefault(part, []).append(recording.size(one) + shared)
        return parts

    def lines(self, recording: Recording) -> list[str]:
        """Return the path and the class, below them the sizes, and whose parameters are shared."""
        short = self.path.rpartition("layers.0.")[2].removeprefix("model.")
        found = [f"{short}: {recording.class_of(self.path)}"]
        for part, each in self.sizes(recording).items():
            found.append(f"{part}: {PLUS.join(each)}" if part else PLUS.join(each))
        owners = [owner for name in recording.tensors(self.path) if (owner := recording.owner(name))]
        if owners:
            shared = os.path.commonpath([owner.replace(".", "/") for owner in owners]).replace("/", ".")
            found.append(f"shared with {shared.removeprefix('model.')}")
        return found[self.path in recording.tensors(self.path) :]

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> float:
        """Draw the box, at its right side an arrow back to itself if it has a loop."""
        if self.loop:
            width -= 2 * (indent := 40)
            x += indent
        inner = width - 12
        texts = [(line, "title") for line in wrapped(self.title, "title", inner)]
        for part in self.formula.split("\n") if self.formula else ():
            texts += [(line, "formula") for line in wrapped(part, "formula", inner)]
        for line in self.lines(canvas.recording):
            texts += [(part, "code") for part in wrapped(line, "code", inner)]
        kind = canvas.recording.class_of(self.path)
        fill = next((colour for word, colour in FILLS.items() if word in kind), OTHER_FILL)
        height = _draw_texts(canvas, texts, x, y, width, fill)
        canvas.places[self.path] = x, y, width, height
        if self.loop:
            right, middle = x + width, y + height / 2
            canvas.path(f"M{_n(right)} {_n(middle + 14)}h12v-28h-11")
            canvas.text(right + 16, middle + 5, self.loop, "formula", "start")
        canvas.below = canvas.recording.returned.get(self.path)
        return height


@dataclass(frozen=True)
class Column(Item):
    """Items from top to bottom, with arrows between them."""

    items: tuple[Item, ...]

    def boxes(self) -> Iterator[Box]:
        """Return the boxes of all items."""
        for item in self.items:
            yield from item.boxes()

    def formulas(self) -> Iterator[str]:
        """Return the formulas of all items."""
        for item in self.items:
            yield from item.formulas()

    def reads(self, recording: Recording) -> tuple[int, ...] | None:
        """Return what the first item reads."""
        return self.items[0].reads(recording)

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> float:
        """Draw one item below the other."""
        top = y
        for number, item in enumerate(self.items):
            if number and not item.starts:
                y += canvas.arrow(x + width / 2, y, item, width)
            elif number:
                y += 22
            y += item.draw(canvas, x, y, width)
        return y - top


@dataclass(frozen=True)
class Row(Column):
    """Items beside each other, which all read what comes from above; below, what they return comes together."""

    joined: bool = True
    """False where each item ends by itself."""

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> float:
        """Draw the items with lines from the middle to all, and back."""
        gap, bus = 10, 16
        part = (width - gap * (len(self.items) - 1)) / len(self.items)
        centres = [x + part / 2 + number * (part + gap) for number in range(len(self.items))]
        heights, below = [], []
        canvas.path(f"M{_n(centres[0])} {_n(y)}H{_n(centres[-1])}", tip=False)
        for item, centre in zip(self.items, centres, strict=True):
            canvas.path(f"M{_n(centre)} {_n(y)}v{bus - 1}")
            heights.append(item.draw(canvas, centre - part / 2, y + bus, part))
            below.append(canvas.below)
        end = y + bus + max(heights)
        canvas.below = None
        if not self.joined:
            return end - y
        for centre, height in zip(centres, heights, strict=True):
            canvas.path(f"M{_n(centre)} {_n(y + bus + height)}V{_n(end + 12)}", tip=False)
        canvas.path(f"M{_n(centres[0])} {_n(end + 12)}H{_n(centres[-1])}", tip=False)
        return end + 12 - y


@dataclass(frozen=True)
class Sum(Column):
    """A residual connection: what comes in is added to what the items make of it.

    Args:
        formula: the sum, written beside the plus.
    """

    formula: str = ""

    def formulas(self) -> Iterator[str]:
        """Return those of the items, and the sum's."""
        yield from super().formulas()
        yield from [self.formula] if self.formula else []

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> float:
        """Draw the items, and a line at their right side to a plus below them."""
        lane, middle = 22, x + width / 2
        canvas.path(f"M{_n(middle)} {_n(y)}v{ARROW - 1}")
        height = ARROW + super().draw(canvas, x + lane, y + ARROW, width - 2 * lane) + ARROW
        canvas.path(f"M{_n(middle)} {_n(y + height - ARROW)}v{ARROW - 1}")
        right = x + width - lane / 2
        canvas.path(f"M{_n(middle)} {_n(y + 4)}H{_n(right)}V{_n(y + height + 10)}H{_n(middle + 11)}")
        _plus(canvas, middle, y + height + 10)
        if self.formula:
            canvas.text(middle - 16, y + height + 15, self.formula, "formula", "end")
        canvas.below = None
        return height + 20


@dataclass(frozen=True)
class Block(Column):
    """A module that is made of the items, `times` in a stack.

    Args:
        path: the path of the first one.
        title: what it is.
        times: how many there are, a field of the configuration; empty for a single one.
    """

    path: str = ""
    title: str = ""
    times: str = ""

    def reads(self, recording: Recording) -> tuple[int, ...] | None:
        """Return the shape of the module's first argument."""
        return recording.read.get(self.path)

    def draw(self, canvas: Canvas, x: float, y: float, width: float) -> float:
        """Draw a frame around the items."""
        at, head, short = len(canvas.lines), 12.0, self.path.removeprefix("model.").replace(".0", "[i]")
        kind = canvas.recording.class_of(self.path)
        for text, style in ((self.title, "title"), (f"{short}: {kind}", "code"), (self.times, "code")):
            for line in wrapped(text, style, width - 20) if text else ():
                head += 16
                canvas.text(x + 12, y + head, line, style, "start")
        head += 6
        middle = x + width / 2
        canvas.path(f"M{_n(middle)} {_n(y + head)}v{ARROW - 1}")
        inner = super().draw(canvas, x + 10, y + head + ARROW, width - 20)
        end = head + ARROW + inner
        canvas.path(f"M{_n(middle)} {_n(y + end)}v12", tip=False)
        height = end + 12
        frame = f'<rect class="block" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="8"/>'
        canvas.lines.insert(at, frame)
        canvas.places[self.path] = x, y, width, height
        canvas.below = canvas.recording.returned.get(self.path)
        return height


@dataclass(frozen=True)
class Link:
    """An arrow at the side of the picture, from one box or block to another further down."""

    start: str
    end: str
    side: str = "left"
    lane: int = 0

    def draw(self, canvas: Canvas, edge: float) -> None:
        """Draw it between the edge of the picture and the boxes."""
        (x, y, width, height), (to_x, to_y, to_width, to_height) = canvas.places[self.start], canvas.places[self.end]
        lane, target = edge + 9 * self.lane, to_y + to_height / 2 + 4 * self.lane
        begin = y + height - 16
        if self.side == "right":
            canvas.path(f"M{_n(x + width)} {_n(begin)}H{_n(WIDTH - lane)}V{_n(target)}H{_n(to_x + to_width + 1)}")
        else:
            canvas.path(f"M{_n(x)} {_n(begin)}H{_n(lane)}V{_n(target)}H{_n(to_x - 1)}")


def _draw_texts(
    canvas: Canvas,
    texts: list[tuple[str, str]],
    x: float,
    y: float,
    width: float,
    fill: str,
    radius: int = 5,
    dashes: bool = False,
) -> float:
    height = sum(LETTERS[kind][0] + 4 for _, kind in texts) + 12
    dash = ' stroke-dasharray="4 3"' if dashes else ""
    canvas.lines.append(
        f'<rect class="box" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="{radius}" '
        f'fill="{fill}"{dash}/>'
    )
    baseline = y + 5
    for text, kind in texts:
        baseline += LETTERS[kind][0] + 4
        canvas.text(x + width / 2, baseline - 3, text, kind)
    return height


def _plus(canvas: Canvas, x: float, y: float) -> None:
    canvas.lines.append(f'<circle class="plus" cx="{_n(x)}" cy="{_n(y)}" r="10"/>')
    canvas.path(f"M{_n(x - 6)} {_n(y)}h12M{_n(x)} {_n(y - 6)}v12", tip=False)


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def draw(title: str, items: tuple[Item, ...], links: tuple[Link, ...], recording: Recording) -> str:
    """Return a picture as SVG: a white card with the title, the items from top to bottom, and the links."""
    canvas, kind = Canvas(recording), type(recording.model).__name__
    side = MARGIN + (16 if links else 0)
    canvas.text(WIDTH / 2, 30, title, "head")
    canvas.text(WIDTH / 2, 50, kind, "code")
    height = 68 + Column(items).draw(canvas, side, 68, WIDTH - 2 * side)
    for link in links:
        link.draw(canvas, MARGIN - 2)
    for number, line in enumerate(("Under each module's name: how many numbers it holds.", "Dropout is left out.")):
        canvas.text(WIDTH / 2, height + 24 + 17 * number, line, "note")
    height += 54
    styles = {kind: f"font-size:{size}px" for kind, (size, _) in LETTERS.items()}
    styles["title"] += ";font-weight:bold"
    styles["code"] += ";font-family:ui-monospace,Menlo,Consolas,monospace;fill:#444"
    styles["note"] += ";fill:#555"
    css = "".join(f".{kind}{{{style}}}" for kind, style in styles.items())
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_n(height)}" width="{WIDTH}" '
            f'height="{_n(height)}" font-family="system-ui,sans-serif" text-anchor="middle" fill="#111" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{css}.head{{font-size:19px;font-weight:bold}}.line{{fill:none;stroke:#555;stroke-width:1.4}}"
            ".box{stroke:#667}.block{fill:#fafafa;stroke:#889;stroke-width:1.2}.plus{fill:#fff;stroke:#555}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>',
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{_n(height - 1)}" rx="10" fill="#fff" stroke="#bbb"/>',
            *canvas.lines,
            "</svg>",
            "",
        ]
    )
