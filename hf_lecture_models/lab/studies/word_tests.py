# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Tests of word vectors: similarities that people gave to pairs of words, and analogies.

Similarity: Spearman's correlation of the cosines of pairs with the people's numbers (WordSim-353, SimLex-999, MEN).
Analogies (Mikolov, Chen, Corrado & Dean 2013): a is to b as c is to d. With all vectors of length 1, the word with the
largest cosine to b - a + c, other than a, b and c, should be d.

A pair or question with a word that the vocabulary lacks, or that has a vector of zeros, is left out; every result has
the number of those that were asked.
"""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hf_lecture_models.analysis.neighbours import Neighbour, embedding_table, special_ids
from hf_lecture_models.tokenization.corpus import read_texts
from hf_lecture_models.tokenization.splitting import split_words

# Number of questions that are answered at once.
_QUESTIONS = 512


@dataclass(frozen=True)
class SimilarityResult:
    """The agreement of vectors' similarities with those that people gave.

    Attributes:
        spearman: Spearman's rank correlation; NaN for fewer than two different pairs.
        pairs: number of pairs that were compared.
        unknown: number of pairs that were left out.
    """

    spearman: float
    pairs: int
    unknown: int


@dataclass(frozen=True)
class AnalogyResult:
    """The number of analogies that were solved.

    Attributes:
        right: questions with the right answer.
        asked: questions whose four words are known.
        unknown: questions that were left out.
    """

    right: int
    asked: int
    unknown: int

    @property
    def accuracy(self) -> float:
        """The share of right answers; NaN without questions."""
        return self.right / self.asked if self.asked else float("nan")


def read_word_pairs(path: str | os.PathLike[str]) -> list[tuple[str, str, float]]:
    """Return the rows of a tab-separated file of two words and a number; a first line without a number is a heading.

    Raises:
        ValueError: another line is not two words and a number, or as `read_texts`.
        OSError: the file cannot be read.
    """
    pairs = []
    rows = csv.reader(read_texts(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    for number, row in enumerate(rows, start=1):
        try:
            first, second, score = row
            pairs.append((first, second, float(score)))
        except ValueError:
            if number > 1:
                raise ValueError(f"{path}, line {number}: {row} is not two words and a number") from None
    return pairs


def read_analogies(path: str | os.PathLike[str]) -> dict[str, list[tuple[str, str, str, str]]]:
    """Return the questions of a file like questions-words.txt by section: four words a line, `: name` begins a section.

    Raises:
        ValueError: a line does not have four words, or as `read_texts`.
        OSError: the file cannot be read.
    """
    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    questions = sections.setdefault("", [])
    for number, line in enumerate(read_texts(path), start=1):
        words = split_words(line)
        if line.startswith(":"):
            questions = sections.setdefault(line[1:].strip(), [])
        elif len(words) == 4:
            questions.append((words[0], words[1], words[2], words[3]))
        elif words:
            raise ValueError(f"{path}, line {number}: {len(words)} words, but a question has four")
    return {name: found for name, found in sections.items() if found}


def word_similarity(
    model_or_embeddings: nn.Module | Tensor,
    tokenizer: Any,
    pairs: Sequence[tuple[str, str, float]],
    which: str = "input",
) -> SimilarityResult:
    """Compare the cosines of pairs of words with the numbers that people gave them.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["tiger", "cat", "car"])
    >>> vectors = torch.tensor([[0, 0], [1, 0], [4, 3], [0, 1], [0, 0], [0, 0], [0, 0]]).float()
    >>> pairs = [("tiger", "cat", 7.35), ("tiger", "car", 1.0), ("cat", "car", 2.0), ("cat", "zebra", 3.0)]
    >>> word_similarity(vectors, tokenizer, pairs)
    SimilarityResult(spearman=1.0, pairs=3, unknown=1)

    Args:
        model_or_embeddings, which: as for `nearest_neighbours`.
        pairs: two words and their similarity.
    """
    table, ids = _unit_vectors(model_or_embeddings, tokenizer, which)
    known = [(ids[a], ids[b], score) for a, b, score in pairs if a in ids and b in ids]
    first, second = (table[[row[side] for row in known]] for side in (0, 1))
    cosines = (first * second).sum(1).double().numpy()
    spearman = _correlation(_ranks(cosines), _ranks(np.array([score for *_, score in known])))
    return SimilarityResult(spearman, len(known), len(pairs) - len(known))


def word_analogies(
    model_or_embeddings: nn.Module | Tensor,
    tokenizer: Any,
    sections: Mapping[str, Sequence[tuple[str, str, str, str]]],
    which: str = "input",
) -> dict[str, AnalogyResult]:
    """Answer the questions of each section, and of all together under "total".

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["man", "king", "woman", "queen", "cat"])
    >>> vectors = torch.tensor([[0, 0], [1, 0], [1, 1], [-1, 0], [-1, 1], [1, -1], [0, 0], [0, 0], [0, 0]]).float()
    >>> word_analogies(vectors, tokenizer, {"family": [("man", "king", "woman", "queen")]})["total"]
    AnalogyResult(right=1, asked=1, unknown=0)

    Args:
        model_or_embeddings, which: as for `nearest_neighbours`.
        sections: by name, questions (a, b, c, d) in the vocabulary's spelling.
    """
    table, ids = _unit_vectors(model_or_embeddings, tokenizer, which)
    words = torch.zeros(len(table), dtype=torch.bool)
    words[list(ids.values())] = True
    results = {}
    for name, questions in sections.items():
        known = torch.tensor([[ids[word] for word in row] for row in questions if all(word in ids for word in row)])
        right = sum(_right(table, words, some) for some in known.split(_QUESTIONS)) if len(known) else 0
        results[name] = AnalogyResult(right, len(known), len(questions) - len(known))
    all_of = (sum(getattr(result, name) for result in results.values()) for name in ("right", "asked", "unknown"))
    return results | {"total": AnalogyResult(*all_of)}


def solve_analogy(
    model_or_embeddings: nn.Module | Tensor,
    tokenizer: Any,
    words: Sequence[str],
    k: int = 10,
    which: str = "input",
) -> tuple[Neighbour, ...]:
    """Return the `k` words d, the best first, that complete the analogy "a is to b as c is to d".

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["man", "king", "woman", "queen", "cat"])
    >>> vectors = torch.tensor([[0, 0], [1, 0], [1, 1], [-1, 0], [-1, 1], [1, -1], [0, 0], [0, 0], [0, 0]]).float()
    >>> [answer.word for answer in solve_analogy(vectors, tokenizer, ["man", "king", "woman"], k=1)]
    ['queen']

    Args:
        model_or_embeddings, which: as for `nearest_neighbours`.
        words: a, b and c, as the vocabulary spells them.

    Raises:
        ValueError: there are not three words, or one is unknown or has a vector of zeros; fewer than `k` are left.
    """
    if isinstance(words, str) or len(words) != 3:
        raise ValueError(f"an analogy has three words, a is to b as c is to what is sought, not {words!r}")
    table, ids = _unit_vectors(model_or_embeddings, tokenizer, which)
    if unknown := [word for word in words if word not in ids]:
        raise ValueError(f"the word {unknown[0]!r} is not in the vocabulary or has no vector; check its spelling")
    others = torch.tensor([id_ for word, id_ in ids.items() if word not in words])
    if not 1 <= k <= len(others):
        raise ValueError(f"k must be from 1 to {len(others)}, the number of other words, not {k}")
    a, b, c = (table[ids[word]] for word in words)
    best = (table[others] @ nn.functional.normalize(b - a + c, dim=0)).topk(k)
    near = zip(others[best.indices].tolist(), best.values.tolist(), strict=True)
    return tuple(Neighbour(tokenizer.convert_ids_to_tokens(id_), id_, cosine) for id_, cosine in near)


def _right(table: Tensor, words: Tensor, questions: Tensor) -> int:
    """Return the number of right answers to questions of ids (questions, 4)."""
    a, b, c, d = questions.T
    cosines = (table[b] - table[a] + table[c]) @ table.T
    cosines[:, ~words] = -torch.inf
    cosines.scatter_(1, questions[:, :3], -torch.inf)
    return int((cosines.argmax(1) == d).sum())


def _unit_vectors(model_or_embeddings: nn.Module | Tensor, tokenizer: Any, which: str) -> tuple[Tensor, dict[str, int]]:
    """Return vectors of length 1, and the ids of the words that have one."""
    table = embedding_table(model_or_embeddings, which).float().cpu()
    special, has_direction = special_ids(tokenizer), table.any(1).tolist()
    vocabulary = {word: id_ for word, id_ in tokenizer.get_vocab().items() if id_ < len(table)}
    ids = {word: id_ for word, id_ in vocabulary.items() if has_direction[id_] and id_ not in special}
    return nn.functional.normalize(table, dim=1), ids


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 0; equal values share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts + 1) / 2)[place]


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    if len(np.unique(first)) < 2 or len(np.unique(second)) < 2:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])
