# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The words from which smoothing takes probability after a context, and those that get it (slides Y:179-225).

Relative frequencies give all probability to the words that were seen after the whole context. A smoothed n-gram model
takes a part of it, and gives that to words that were seen after a shorter context, and to all others.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hf_lecture_models.analysis.figures import (
    COLOURS,
    HATCHES,
    LONGEST,
    SMALL,
    WIDTH,
    label_room,
    shorten,
    slide,
    text_width,
)
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM

_MOST_GROUPS = 6
# In print without colours the groups still differ; the two of most probability, the first and the last, mostly do so.
_DARK = (COLOURS[0], COLOURS[2], COLOURS[5])


@dataclass(frozen=True)
class WordGroup:
    """The words that were seen after the same part of a context, and after no longer one.

    Attributes:
        context: that part, the context's last words; () for words that were seen after none of them.
        words: the words, the most probable first.
        probs: (words,) P of each after the whole context.
    """

    context: tuple[str, ...]
    words: tuple[str, ...]
    probs: np.ndarray

    @property
    def name(self) -> str:
        """A description of the words.

        >>> WordGroup(("the", "cat"), ("sat",), np.array([1.0])).name
        'seen after “the cat”'
        """
        return f"seen after “{' '.join(self.context)}”" if self.context else "all other words"

    @property
    def share(self) -> float:
        """The sum of the words' probabilities."""
        return float(self.probs.sum())


def group_words(model: Any, tokenizer: Any, context: Sequence[str]) -> list[WordGroup]:
    """Group the words that can follow a context by the longest part of it after which they were seen, longest first.

    >>> from hf_lecture_models import WordTokenizer
    >>> texts = ["the cat sat", "the cat ran", "a dog ran"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=3, smoothing="maximum_likelihood")
    >>> [(group.name, group.words, round(group.share, 3)) for group in group_words(model, tokenizer, ["the", "cat"])][0]
    ('seen after “the cat”', ('ran', 'sat'), 1.0)

    Args:
        model, tokenizer: an n-gram model and its tokenizer.
        context: words of the vocabulary, with `<s>` at the beginning of a text; the last order - 1 of them are used.

    Raises:
        ValueError: the model is not an n-gram, or has no distribution; or a word is not in the vocabulary.
    """
    if not isinstance(model, NGramForCausalLM):
        raise ValueError(
            f"{type(model).__name__} is no n-gram model, and is not smoothed; name a model of counts, or an ARPA file"
        )
    vocabulary = tokenizer.get_vocab()
    for word in context:
        if word not in vocabulary:
            raise ValueError(f"{word!r} is not in the vocabulary; give words of it, each by itself")
    used = list(context)[max(len(context) - model.config.order + 1, 0) :] if model.config.order > 1 else []
    # The first token is masked: a context may be empty, and a row of tokens may not.
    ids = torch.tensor([[0, *(vocabulary[word] for word in used)]], device=model.device)
    logits = model(
        ids, attention_mask=(torch.arange(ids.shape[1], device=ids.device) > 0)[None], logits_to_keep=1
    ).logits
    probs = logits[0, -1].double().exp().cpu().numpy()
    left = np.ones(len(probs), bool)
    left[model.config.non_events] = False
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(probs))))
    groups = []
    for length in range(len(used), -1, -1):
        seen = left & _followers(model, ids[0, 1 + len(used) - length :]) if length else left
        found = np.flatnonzero(seen)
        found = found[np.argsort(-probs[found], kind="stable")]
        groups.append(WordGroup(tuple(used[len(used) - length :]), tuple(tokens[i] for i in found), probs[found]))
        left &= ~seen
    return groups


def _followers(model: NGramForCausalLM, context: torch.Tensor) -> np.ndarray:
    """Return (vocab,) bool: the words that are stored after a context of one word or more."""
    if model.word_classes() is not None:
        raise ValueError("the model is of classes of words, which are not shown; name one of words")
    if model.config.hashed:
        raise ValueError("the model has hashes of its n-grams, and not their words; name one with its n-grams")
    tables, after = model.tables(), np.zeros(model.config.vocab_size, bool)
    starts = torch.arange(len(context), device=context.device) == 0
    index = int(model.trie.contexts(context, starts)[len(context) - 1][-1])
    if index >= 0:
        keys = tables.keys[len(context) - 1]
        first, last = np.searchsorted(keys, [index * tables.vocab_size, (index + 1) * tables.vocab_size])
        after[keys[first:last] % tables.vocab_size] = True
    return after


def probabilities_of(
    model: Any, tokenizer: Any, context: Sequence[str], groups: Sequence[WordGroup]
) -> list[WordGroup]:
    """Return the same groups of words with the probabilities of another n-gram model over the same words.

    Raises:
        ValueError: as `group_words`; or the model lacks one of the words.
    """
    own = {
        word: p
        for group in group_words(model, tokenizer, context)
        for word, p in zip(group.words, group.probs, strict=True)
    }
    lacking = [word for group in groups for word in group.words if word not in own]
    if lacking:
        raise ValueError(f"the models' vocabularies differ: one lacks {lacking[0]!r}; compare models of one tokenizer")
    return [WordGroup(g.context, g.words, np.array([own[word] for word in g.words])) for g in groups]


def save_smoothing(groups: Mapping[str, Sequence[WordGroup]], path: str | os.PathLike[str], caption: str) -> None:
    """Draw a bar for each model, divided among the groups of words.

        save_smoothing({"Katz": group_words(model, tokenizer, ["the", "cat"])}, "smoothing.svg", caption="...")

    Args:
        groups: by the model's name, the same groups of words for all models.
        caption: names the context.

    Raises:
        ValueError: there are more than 6 groups, or none.
    """
    first = next(iter(groups.values()), [])
    if not 0 < len(first) <= _MOST_GROUPS:
        raise ValueError(
            f"{len(first)} groups of words do not make a picture; give 0 to {_MOST_GROUPS - 1} words of context"
        )
    labels = [f"{part.name} ({len(part.words):,})" for part in first]
    room = label_room(groups) + 0.5
    width = max(WIDTH, 4.0 + room)
    # A share is written where it fits into its part of the bar.
    least = (text_width("0.00", SMALL) + 0.06) / (width - room)
    title = "Where the probability of the next word goes"
    with slide(path, title, caption, width, 0.55 * len(groups) + 0.6, legend=True) as axes:
        for row, parts in enumerate(groups.values()):
            left = 0.0
            for colour, hatch, label, part in zip(COLOURS, HATCHES, labels, parts, strict=False):
                look = {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "label": label}
                axes.barh(row, part.share, left=left, height=0.7, **look)
                if part.share >= least:
                    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALL}
                    style["bbox"] = {"facecolor": colour, "edgecolor": "none", "pad": 1.5}
                    ink = "white" if colour in _DARK else "black"
                    axes.text(left + part.share / 2, row, f"{part.share:.2f}", color=ink, **style)
                left += part.share
        axes.set_xlim(0, 1)
        axes.set_ylim(len(groups) - 0.5, -0.5)
        axes.set_yticks(range(len(groups)), [shorten(name, LONGEST) for name in groups], parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("probability")
