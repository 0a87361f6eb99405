# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Cut long texts into overlapping windows, each with the question, and find the best answers in their tokens.

A model scores each token as the first and as the last one of the answer (Devlin et al. 2019, section 4.2). Training,
evaluation and `pipeline("extractive-question-answering")` use the same windows and the same search. This file travels
with exported models.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import torch

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.tokenization.offsets import whole_offsets

# Questions in one call of the tokenizer; the Rust library holds a hundred bytes or more per token until it returns.
_CHUNK = 256


@dataclass(frozen=True)
class Window:
    """A question and a part of its text, as the model reads them.

    Attributes:
        inputs: the arrays that the tokenizer gives, by name, (tokens,) each.
        first: the place of the text's first token; the others follow it.
        offsets: (tokens of the text, 2), the characters at which each begins and ends in the text.
        words: (tokens of the text,), the number of each token's word, from the tokenizer.
        no_answer: the place of the token whose scores mean "no answer in this window".
    """

    inputs: dict[str, np.ndarray]
    first: int
    offsets: np.ndarray
    words: np.ndarray
    no_answer: int

    def __len__(self) -> int:
        return len(self.inputs["input_ids"])


@dataclass(frozen=True)
class Answer:
    """A part of a text, `text[start:end]`.

    Attributes:
        score: the sum of `start_score` and `end_score`.
    """

    start: int
    end: int
    start_score: float
    end_score: float

    @property
    def score(self) -> float:
        """The number that ranks answers."""
        return self.start_score + self.end_score


def cut_windows(
    tokenizer: Any,
    questions: Sequence[str],
    texts: Sequence[str],
    max_length: int = 384,
    doc_stride: int = 128,
    max_question_length: int = 64,
) -> list[list[Window]]:
    """Return the windows of each question's text, one or more.

    The question comes before the text, or after it if the tokenizer pads on the left, as in transformers.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.train(["who sat", "a cat sat on a mat"], template="bert")
    >>> (windows,) = cut_windows(tokenizer, ["who"], ["a cat sat on a mat"], max_length=8, doc_stride=2)
    >>> [tokenizer.decode(window.inputs["input_ids"]) for window in windows]
    ['[CLS] who [SEP] a cat sat on [SEP]', '[CLS] who [SEP] sat on a mat [SEP]']
    >>> windows[1].offsets.tolist()
    [[6, 9], [10, 12], [13, 14], [15, 18]]

    Args:
        tokenizer: of the Rust library (`tokenizers`), or one that has `gives_offsets`.
        max_length: the most tokens of a window, with the question and special tokens.
        doc_stride: tokens that neighbouring windows share; at most half of the text in a window.
        max_question_length: the most tokens of a question, at most half of a window; longer questions are cut.

    Raises:
        ValueError: the tokenizer does not give the offsets of its tokens, or max_length leaves no room.
    """
    room = _room(tokenizer, max_length)
    questions, lengths = _cut_questions(tokenizer, questions, min(max_question_length, room // 2))
    # One call of the tokenizer has one stride, which long questions make shorter than `doc_stride`.
    strides = [min(doc_stride, (room - length) // 2) for length in lengths]
    found: list[list[Window]] = [[] for _ in questions]
    for stride in sorted(set(strides)):
        rows = [row for row, own in enumerate(strides) if own == stride]
        for place, window in _encoded(tokenizer, [(questions[r], texts[r]) for r in rows], max_length, stride):
            found[rows[place]].append(window)
    return found


def _room(tokenizer: Any, max_length: int) -> int:
    """Return how many tokens a window has for question and text, without the special ones."""
    if not getattr(tokenizer, "gives_offsets", getattr(tokenizer, "is_fast", False)):
        raise ValueError(
            f"{type(tokenizer).__name__} does not say where its tokens stand in a text (it is no fast tokenizer), so "
            "no answer can be found in one; use a tokenizer with a tokenizer.json"
        )
    room = max_length - tokenizer.num_special_tokens_to_add(pair=True)
    if room < 2:
        raise ValueError(f"max_length {max_length} leaves no room for a question and a text; raise it")
    return room


def _cut_questions(tokenizer: Any, questions: Sequence[str], length: int) -> tuple[list[str], list[int]]:
    """Cut the questions to at most `length` tokens; return them, and their numbers of tokens."""
    # Blanks around a question are tokens to some tokenizers, and SQuAD has questions with hundreds of them.
    stripped = [question.strip() for question in questions]
    if not stripped:
        return [], []
    encoded = tokenizer(stripped, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    places = encoded["offset_mapping"]
    cut = [
        text[: own[length - 1][1]] if len(own) > length else text for text, own in zip(stripped, places, strict=True)
    ]
    return cut, [min(len(own), length) for own in places]


def _encoded(
    tokenizer: Any, pairs: Sequence[tuple[str, str]], max_length: int, stride: int
) -> Iterator[tuple[int, Window]]:
    """Yield windows, each with the place of its question and text among the pairs."""
    question_first = tokenizer.padding_side == "right"
    cutting = {"truncation": "only_second" if question_first else "only_first", "max_length": max_length}
    for begin in ProgressBar(range(0, len(pairs), _CHUNK), desc="answering", unit="batch"):
        sides = [list(side) for side in zip(*pairs[begin : begin + _CHUNK], strict=True)]
        encoded = tokenizer(
            *(sides if question_first else sides[::-1]),
            **cutting,
            stride=stride,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            verbose=False,
        )
        for index, row in enumerate(encoded["overflow_to_sample_mapping"]):
            yield begin + row, _window(tokenizer, encoded, index, pairs[begin + row][1], int(question_first))


def _window(tokenizer: Any, encoded: Any, index: int, text: str, side: int) -> Window:
    own = [place for place, sequence in enumerate(encoded.sequence_ids(index)) if sequence == side]
    first, stop = (own[0], own[-1] + 1) if own else (0, 0)
    names = [name for name in encoded if name not in ("overflow_to_sample_mapping", "offset_mapping")]
    inputs = {name: np.array(encoded[name][index], dtype=np.int32) for name in names}
    places = whole_offsets(text, encoded.tokens(index)[first:stop], encoded["offset_mapping"][index][first:stop])
    offsets = np.array(places, dtype=np.int32).reshape(-1, 2)
    # A token outside of words has None, which becomes nan: it is equal to no other token's.
    words = np.array(encoded.word_ids(index)[first:stop], dtype=np.float32)
    return Window(inputs, first, offsets, words, _no_answer_token(tokenizer, inputs["input_ids"]))


def _no_answer_token(tokenizer: Any, ids: np.ndarray) -> int:
    """Return the place of [CLS], or else of the beginning of the text, or else 0."""
    for special in (tokenizer.cls_token_id, tokenizer.bos_token_id):
        if special is not None and special in ids:
            return int((ids == special).reshape(len(ids), -1).any(1).argmax())
    return 0


def input_names(model: Any) -> set[str]:
    """Return the names of the arguments of a model's `forward`, also inside an adapter of peft or a compiled model.

    >>> from transformers import DistilBertConfig, DistilBertModel
    >>> "token_type_ids" in input_names(DistilBertModel(DistilBertConfig(vocab_size=9, dim=8, n_layers=1, n_heads=2)))
    False
    """
    inner = model.get_base_model() if hasattr(model, "get_base_model") else getattr(model, "_orig_mod", model)
    return set(signature(inner.forward).parameters)


def batch_windows(inputs: Sequence[dict[str, np.ndarray]], names: set[str], tokenizer: Any) -> dict[str, torch.Tensor]:
    """Join the inputs of windows in one batch.

    They are padded on the right, even if the tokenizer pads on the left: most models of transformers count places from
    the left, and so give each window the scores that it gets alone.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.train(["a cat"], template="bert", progress=False)
    >>> inputs = [{"input_ids": np.array([7])}, {"input_ids": np.array([7, 8])}]
    >>> batch_windows(inputs, {"input_ids", "attention_mask"}, tokenizer)["attention_mask"]
    tensor([[1, 0],
            [1, 1]])

    Args:
        names: of the model's arguments, from `input_names`.

    Returns:
        Tensors (windows, tokens of the longest one), by name.

    Raises:
        ValueError: the lengths differ, and the tokenizer has no token for padding.
    """
    lengths = [len(each["input_ids"]) for each in inputs]
    if len(set(lengths)) > 1 and tokenizer.pad_token_id is None:
        raise ValueError("the tokenizer has no pad_token, so windows of several lengths make no batch; set one")
    filling = {"input_ids": tokenizer.pad_token_id or 0, "token_type_ids": tokenizer.pad_token_type_id}
    batch = {}
    for name in dict.fromkeys([*inputs[0], "attention_mask"]):
        if name in names:
            # Words may be rows of characters.
            shape = (len(inputs), max(lengths), *np.shape(inputs[0].get(name, ()))[1:])
            filled = torch.full(shape, filling.get(name, 0))
            for row, each in enumerate(inputs):
                ids = np.ones(lengths[row], np.int64) if name == "attention_mask" else each[name]
                filled[row, : lengths[row]] = torch.from_numpy(ids)
            batch[name] = filled
    return batch


def answer_tokens(windows: Sequence[Window], start: int, end: int) -> list[tuple[int, int]]:
    """Return the first and last token of `text[start:end]` in each window, or `no_answer` if a part is missing.

    >>> whole = Window({}, 3, np.array([[0, 1], [2, 5], [6, 9]]), np.arange(3), 0)
    >>> part = Window({}, 3, np.array([[0, 1], [2, 5]]), np.arange(2), 0)
    >>> answer_tokens([whole, part], start=2, end=9)
    [(4, 5), (0, 0)]
    """
    # The tokens with at least one character of the answer.
    own = [np.flatnonzero((w.offsets[:, 0] < end) & (w.offsets[:, 1] > start)) for w in windows]
    places = np.concatenate([w.offsets[tokens] for w, tokens in zip(windows, own, strict=True)])
    if not len(places):
        return [(window.no_answer,) * 2 for window in windows]
    first, last = places[:, 0].min(), places[:, 1].max()
    return [
        (window.first + int(tokens[0]), window.first + int(tokens[-1]))
        if len(tokens) and window.offsets[tokens[0], 0] == first and window.offsets[tokens[-1], 1] == last
        else (window.no_answer,) * 2
        for window, tokens in zip(windows, own, strict=True)
    ]


def best_spans(start: np.ndarray, end: np.ndarray, max_length: int, count: int | None = 1) -> np.ndarray:
    """Return the spans of at most `max_length` tokens with the greatest start + end scores, best first.

    >>> best_spans(np.array([0.0, 3.0, 1.0]), np.array([4.0, 0.0, 2.5]), max_length=2, count=3).tolist()
    [[1, 2], [0, 0], [2, 2]]

    Args:
        start, end: (tokens,), the score of each token as the first and as the last one.
        count: the most spans; None for all.

    Returns:
        (spans, 2), the first and last token of each; equal ones in the order of the text.
    """
    width = min(max_length, len(start))
    if not width:
        return np.empty((0, 2), dtype=np.int64)
    padded = np.concatenate([end, np.full(width - 1, -np.inf, dtype=end.dtype)])
    # (tokens, width): row i, column j is the span of tokens i to i + j.
    scores = (start[:, None] + np.lib.stride_tricks.sliding_window_view(padded, width)).reshape(-1)
    chosen = np.arange(len(scores))
    if count is not None and count < len(scores):
        chosen = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
    chosen = chosen[np.argsort(-scores[chosen], kind="stable")]
    chosen = chosen[scores[chosen] > -np.inf][:count]
    return np.stack([chosen // width, chosen // width + chosen % width], axis=1)


def find_answers(
    window: Window,
    text: str,
    start: np.ndarray,
    end: np.ndarray,
    max_length: int,
    count: int | None = 1,
    align_to_words: bool = False,
) -> list[Answer]:
    """Return the best answers in a window, best first, without blanks around them.

    >>> text = "a cat sat"
    >>> window = Window({}, 1, np.array([[0, 1], [2, 5], [6, 9]]), np.arange(3), 0)
    >>> start, end = np.array([9.0, 0.0, 2.0, 1.0]), np.array([9.0, 0.0, 2.0, 3.0])
    >>> [text[one.start : one.end] for one in find_answers(window, text, start, end, max_length=2, count=2)]
    ['cat sat', 'cat']

    Args:
        text: the whole text, not only the window's part.
        start, end: (tokens of the window,), as in `best_spans`.
        max_length: the most tokens of an answer.
        align_to_words: begin and end answers where words do, except in the tokenizer's words that have blanks inside.
    """
    own = slice(window.first, window.first + len(window.offsets))
    start, end = start[own], end[own]
    found = []
    for first, last in best_spans(start, end, max_length, count).tolist():
        scores = float(start[first]), float(end[last])
        begin, stop = int(window.offsets[first, 0]), int(window.offsets[last, 1])
        if align_to_words:
            begin, stop = _word_at(window, text, first)[0], _word_at(window, text, last)[1]
        part = text[begin:stop]
        begin, stop = begin + len(part) - len(part.lstrip()), stop - len(part) + len(part.rstrip())
        if begin < stop:
            found.append(Answer(begin, stop, *scores))
    return found


def _word_at(window: Window, text: str, token: int) -> tuple[int, int]:
    """Return where a token's word begins and ends, as far as it is in the window."""
    first = last = token
    while first > 0 and window.words[first - 1] == window.words[token]:
        first -= 1
    while last + 1 < len(window.words) and window.words[last + 1] == window.words[token]:
        last += 1
    begin, stop = int(window.offsets[first, 0]), int(window.offsets[last, 1])
    if any(character.isspace() for character in text[begin:stop].strip()):
        return int(window.offsets[token, 0]), int(window.offsets[token, 1])
    return begin, stop


def distinct(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers, best first, with each part of the text only once.

    >>> [answer.score for answer in distinct([Answer(0, 3, 1.0, 1.0), Answer(0, 3, 2.0, 1.0), Answer(4, 5, 0.0, 0.0)])]
    [3.0, 0.0]
    """
    best: dict[tuple[int, int], Answer] = {}
    for answer in sorted(answers, key=lambda answer: -answer.score):
        best.setdefault((answer.start, answer.end), answer)
    return list(best.values())


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Return the natural logarithm of the softmax.

    >>> log_softmax(np.array([0.0, 0.0])).round(4).tolist()
    [-0.6931, -0.6931]
    """
    shifted = scores - scores.max()
    return shifted - math.log(np.exp(shifted).sum())
