# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The segmentation of a text into tokens, step by step: by byte-pair encoding, WordPiece or a unigram model.

Byte-pair encoding (slides Y:371-405) begins with characters, or bytes. Among the pairs of neighbours that are merges it
applies the one that was learned first, until none is left. WordPiece (Y:402) takes the longest piece of its vocabulary
that begins the word, then the longest that goes on. A unigram model (Y:402; Kudo 2018) gives each segmentation of a
word a probability, and takes the most probable one.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

import numpy as np

from hf_lecture_models.analysis.figures import COLOURS, FONT_SIZE, slide, text_width
from hf_lecture_models.analysis.neighbours import shown
from hf_lecture_models.analysis.text_inputs import check_text
from hf_lecture_models.tokenization.lattices import Lattices

_MOST_ROWS = 40
_MOST_ALTERNATIVES = 10
_GAP = 0.15  # inches between symbols


@dataclass(frozen=True)
class SegmentationStep:
    """The parts of a word after one step.

    Attributes:
        symbols: the parts from left to right; WordPiece's last one may be the rest that is still to be read.
        rule: describes the step.
        new: the places of the symbols that the step made.
    """

    symbols: tuple[str, ...]
    rule: str
    new: tuple[int, ...] = ()


@dataclass(frozen=True)
class WordSegmentation:
    """The steps from a word, as the tokenizer cuts it out of the text, to its tokens."""

    word: str
    steps: tuple[SegmentationStep, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The symbols of the last step."""
        return self.steps[-1].symbols


def segmentation_steps(tokenizer: Any, text: str) -> list[WordSegmentation]:
    """Follow each word of a text from its characters to its tokens.

    >>> from hf_lecture_models import BpeTokenizer
    >>> tokenizer = BpeTokenizer.train(["lower lowest newer wider wide"], merges=5, end_of_word="#", progress=False)
    >>> for step in segmentation_steps(tokenizer, "lowest")[0].steps:
    ...     print(" ".join(step.symbols), "|", step.rule)
    l o w e s t# | characters
    lo w e s t# | merge 3: l + o
    low e s t# | merge 4: lo + w

    The steps of a unigram model are the most probable segmentations, ten at most, the best one last:

    >>> from hf_lecture_models import UnigramTokenizer
    >>> tokenizer = UnigramTokenizer.from_scores({"a": -1.0, "b": -1.5, "ab": -2.0})
    >>> for step in segmentation_steps(tokenizer, "ab")[0].steps:
    ...     print(" ".join(step.symbols), "|", step.rule)
    a b | 2nd of 2: 37.8 %, ln P = -2.50
    ab | best of 2: 62.2 %, ln P = -2.00

    Args:
        tokenizer: a tokenizer on the Rust library, of byte-pair encoding, WordPiece or a unigram model. A special
            token's spelling in the text is plain text.

    Raises:
        TypeError: `text` is not a str.
        ValueError: the text is blank, or the tokenizer works by other rules.
    """
    backend, follow = _check(tokenizer, text)
    words = _split(backend, text)
    found = [WordSegmentation(word, tuple(follow(word))) for word in words]
    for one in found:
        if one.tokens != tuple(token.value for token in backend.model.tokenize(one.word)):
            raise ValueError(f"{shown(one.word)} is segmented by a rule of this tokenizer that is not shown here")
    return found


def _check(tokenizer: Any, text: str) -> tuple[Any, Callable[[str], Iterator[SegmentationStep]]]:
    """Return the tokenizer's backend, and the function that follows a word; errors as of `segmentation_steps`."""
    check_text(text)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    kind = type(backend.model).__name__ if backend is not None else type(tokenizer).__name__
    if kind not in _STEPS:
        raise ValueError(
            f"{type(tokenizer).__name__} neither merges nor matches pieces, nor weighs them; steps are shown of "
            "byte-pair encoding, WordPiece and unigram models. Its tokens are: "
            + " ".join(map(shown, tokenizer.tokenize(text)))
        )
    assert backend is not None
    if getattr(tokenizer, "is_sampling", False):
        raise ValueError("by chance every segmentation is another one; leave the block of tokenizer.sampling(...)")
    if getattr(backend.model, "dropout", None):
        raise ValueError("with dropout every segmentation is another one; leave the block of tokenizer.dropout(...)")
    return backend, _STEPS[kind](json.loads(backend.to_str())["model"]).steps


def _split(backend: Any, text: str) -> list[str]:
    if backend.normalizer is not None:
        text = backend.normalizer.normalize_str(text)
    if backend.pre_tokenizer is None:
        return [text]
    return [piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(text)]


class _Merges:
    """Byte-pair encoding, with the settings of a saved model."""

    def __init__(self, settings: dict[str, Any]) -> None:
        merges = (tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in settings["merges"])
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.vocabulary, self.unknown = settings["vocab"], settings["unk_token"]
        self.prefix, self.mark = settings["continuing_subword_prefix"] or "", settings["end_of_word_suffix"] or ""
        self.looks_up_words = settings.get("ignore_merges", False)

    def steps(self, word: str) -> Iterator[SegmentationStep]:
        if self.looks_up_words and word in self.vocabulary:
            yield SegmentationStep((word,), "a word of the vocabulary", (0,))
            return
        symbols = self._characters(word)
        yield SegmentationStep(tuple(symbols), "characters")
        while known := [pair for pair in pairwise(symbols) if pair in self.ranks]:
            pair = min(known, key=self.ranks.__getitem__)
            symbols, new = self._merge(symbols, pair)
            rule = f"merge {self.ranks[pair] + 1:,}: {shown(pair[0])} + {shown(pair[1])}"
            yield SegmentationStep(tuple(symbols), rule, tuple(new))

    def _characters(self, word: str) -> list[str]:
        symbols = [self.prefix * (i > 0) + letter for i, letter in enumerate(word)]
        symbols[-1] += self.mark
        return [symbol if symbol in self.vocabulary or self.unknown is None else self.unknown for symbol in symbols]

    def _merge(self, symbols: Sequence[str], pair: tuple[str, ...]) -> tuple[list[str], list[int]]:
        merged, new = list[str](), list[int]()
        rest = list(symbols)
        while rest:
            if tuple(rest[:2]) == pair:
                new.append(len(merged))
                merged.append(rest.pop(0) + rest.pop(0).removeprefix(self.prefix))
            else:
                merged.append(rest.pop(0))
        return merged, new


class _Matches:
    """WordPiece, with the settings of a saved model."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.vocabulary, self.unknown = settings["vocab"], settings["unk_token"]
        self.prefix, self.longest = settings["continuing_subword_prefix"], settings["max_input_chars_per_word"]

    def steps(self, word: str) -> Iterator[SegmentationStep]:
        yield SegmentationStep((word,), "word")
        if len(word) > self.longest:
            yield SegmentationStep((self.unknown,), f"more than {self.longest} characters", (0,))
            return
        pieces, begin = list[str](), 0
        while begin < len(word):
            prefix = self.prefix * (begin > 0)
            ends = (end for end in range(len(word), begin, -1) if prefix + word[begin:end] in self.vocabulary)
            end = next(ends, None)
            if end is None:
                rule = f"no piece {'begins with' if begin == 0 else 'goes on with'} {shown(word[begin])}"
                yield SegmentationStep((self.unknown,), rule, (0,))
                return
            pieces.append(prefix + word[begin:end])
            begin = end
            rest = (self.prefix + word[begin:],) if begin < len(word) else ()
            what = "begins the word" if len(pieces) == 1 else "goes on"
            yield SegmentationStep((*pieces, *rest), f"the longest that {what}", (len(pieces) - 1,))


class _Alternatives:
    """A unigram model, with the settings of a saved one."""

    def __init__(self, settings: dict[str, Any]) -> None:
        pieces = [piece for piece, _ in settings["vocab"]]
        self.scores = np.array([score for _, score in settings["vocab"]])
        self.unknown, self.lengths = settings["unk_id"], list(map(len, pieces))
        self.pieces = {piece: number for number, piece in enumerate(pieces) if number != self.unknown}

    def steps(self, word: str) -> Iterator[SegmentationStep]:
        lattice = Lattices.of([word], self.pieces, self.unknown)
        total, number = float(lattice.log_sum(self.scores)[0]), int(lattice.count()[0])
        best = lattice.nbest(self.scores, _MOST_ALTERNATIVES)[0]
        taken = set(self._places(best[0][1], word)) if best else set()
        for rank, (score, pieces) in reversed(list(enumerate(best, 1))):
            places = self._places(pieces, word)
            name = "best" if rank == 1 else f"{rank}{ {2: 'nd', 3: 'rd'}.get(rank, 'th') }"
            rule = f"{name} of {number:,}: {np.exp(score - total):.1%}, ln P = {score:.2f}".replace("%", " %")
            new = [i for i, place in enumerate(places) if rank > 1 and place not in taken]
            yield SegmentationStep(tuple(word[b:e] for b, e in places), rule, tuple(new))

    def _places(self, pieces: Sequence[int], word: str) -> list[tuple[int, int]]:
        places, begin = list[tuple[int, int]](), 0
        for piece in pieces:
            length = self.lengths[piece]
            if piece == self.unknown:
                length = sum(1 for _ in takewhile(lambda x: x not in self.pieces, word[begin:]))
            places.append((begin, begin + length))
            begin += length
        return places


_STEPS: dict[str, Any] = {"BPE": _Merges, "WordPiece": _Matches, "Unigram": _Alternatives}


def save_segmentation(
    words: Sequence[WordSegmentation], path: str | os.PathLike[str], tokenizer_name: str, text: str
) -> None:
    """Draw a row for each step, with new symbols in blue; the caption names the tokenizer and has the text.

    Args:
        words: the result of `segmentation_steps`.

    Raises:
        ValueError: there are more than 40 rows, or none.
    """
    rows = [step for word in words for step in (*word.steps, None)][:-1]
    if not 0 < len(rows) <= _MOST_ROWS:
        raise ValueError(f"{len(rows)} rows do not make a picture that can be read; at most {_MOST_ROWS}: fewer words")
    widest = max(_width(step.symbols) for step in rows if step is not None)
    whole = widest + 2 * _GAP + max(text_width(step.rule) for step in rows if step is not None)
    with slide(
        path, f"How {tokenizer_name} segments, step by step", text, max(6.0, whole + _GAP), 0.36 * len(rows)
    ) as axes:
        axes.axis("off")
        axes.set_xlim(0, max(6.0 - _GAP, whole))
        axes.set_ylim(len(rows), 0)
        for row, step in enumerate(rows):
            if step is not None:
                _draw_step(axes, row + 0.5, step, widest + 2 * _GAP)


def _width(symbols: Iterable[str]) -> float:
    return sum(_box_width(symbol) + _GAP / 2 for symbol in symbols)


def _box_width(symbol: str) -> float:
    return text_width(shown(symbol)) + _GAP


def _draw_step(axes: Any, y: float, step: SegmentationStep, right: float) -> None:
    from matplotlib.patches import Rectangle

    x = 0.0
    for index, symbol in enumerate(step.symbols):
        width = _box_width(symbol)
        is_new = index in step.new
        axes.add_patch(
            Rectangle((x, y - 0.4), width, 0.8, facecolor=COLOURS[0] if is_new else "white", edgecolor="0.4")
        )
        style: dict[str, Any] = {"ha": "center", "color": "white" if is_new else "black"}
        axes.text(x + width / 2, y, shown(symbol), va="center", fontsize=FONT_SIZE, parse_math=False, **style)
        x += width + _GAP / 2
    axes.text(right, y, step.rule, va="center", fontsize=FONT_SIZE, color="0.25", parse_math=False)
