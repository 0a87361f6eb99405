# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Nearest neighbours of words in a model's embeddings: the words that it treats alike (slide Y:288-305).

The input embeddings R are the rows that the model reads, the output embeddings the rows of its last layer, with which
it compares a history. Cosine: u·v / (|u| |v|); Euclidean: |u - v|.

A word is looked up with a space before it, or else as it begins a text; a token with a space inside, such as GloVe's
". . .", as the vocabulary spells it. Neighbours are tokens of the vocabulary.
Special tokens and the word itself are left out by default, and rows of zeros, which have no direction, under the
cosine. Similarities that agree to twelve decimals are equal: the lower id comes first.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.tokenization.unknown_words import CLASS_TOKENS

METRICS = ("cosine", "euclidean")

# Words compared at once, and elements of the vocabulary's block that they are compared with (32 MB in float64).
_WORDS, _ELEMENTS = 256, 2**22
# Rounding errors of float64 must not order equal similarities.
_DECIMALS = 12


@dataclass(frozen=True)
class Neighbour:
    """A token of the vocabulary near a word.

    Attributes:
        word: the token as the vocabulary spells it (`Ġwas` where the tokenizer marks a space before by `Ġ`).
        id: its row of the embeddings.
        similarity: the cosine, or minus the Euclidean distance: greater is nearer.
        count: occurrences in training, if they were given.
    """

    word: str
    id: int
    similarity: float
    count: int | None = None


@dataclass(frozen=True)
class WordNeighbours:
    """A word and its neighbours, the nearest first.

    Attributes:
        word: as the caller wrote it.
        ids: its token, or the tokens whose mean was taken.
        count: occurrences in training, if they were given and the word is one token.
        neighbours: at least one.
    """

    word: str
    ids: tuple[int, ...]
    count: int | None
    neighbours: tuple[Neighbour, ...]


def nearest_neighbours(
    model_or_embeddings: nn.Module | Tensor,
    tokenizer: Any,
    words: Sequence[str],
    k: int = 10,
    which: str = "input",
    metric: str = "cosine",
    *,
    counts: Sequence[int] | Tensor | None = None,
    mean_of_pieces: bool = False,
    include_special: bool = False,
    include_itself: bool = False,
) -> list[WordNeighbours]:
    """Find the `k` tokens whose embeddings are nearest to that of each word.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["is", "was", "cat"])
    >>> vectors = torch.tensor([[0, 0], [1, 0], [4, 3], [0, 2], [0, 0], [0, 0], [0, 0]]).float()
    >>> [(near.word, near.similarity) for near in nearest_neighbours(vectors, tokenizer, ["is"], k=2)[0].neighbours]
    [('was', 0.8), ('cat', 0.0)]

    Args:
        model_or_embeddings: any model of transformers, or a table (vocab, hidden).
        which: of a model, its "input" or "output" embeddings.
        metric: "cosine" or "euclidean".
        counts: (vocab,) occurrences of each token in training; only shown.
        mean_of_pieces: take a word of several tokens as the mean of their vectors; else it is an error.
        include_special, include_itself: special tokens, or the word (each of its pieces), may be neighbours.

    Raises:
        TypeError: `words` is one str.
        ValueError: a word is unknown, of several tokens, or zero under the cosine; the embeddings are missing (as
            ELMo's), too few for the tokenizer, NaN or infinite; fewer than `k` tokens are left.
    """
    table = embedding_table(model_or_embeddings, which)
    spelling = {id_: token for token, id_ in tokenizer.get_vocab().items()}
    _check_sizes(table, spelling, counts)
    if isinstance(words, str):
        raise TypeError(f"words is the one str {words!r}; give a list of words")
    asked = [_token_ids(tokenizer, word, mean_of_pieces) for word in words]
    candidates = _rows(spelling.keys() - (set() if include_special else special_ids(tokenizer)), len(table))
    found = zip(words, asked, _search(table, words, asked, candidates, include_itself, k, metric), strict=True)
    return [_word_neighbours(word, ids, near, spelling, counts) for word, ids, near in found]


def _word_neighbours(
    word: str,
    ids: tuple[int, ...],
    near: Iterable[tuple[int, float]],
    spelling: Mapping[int, str],
    counts: Sequence[int] | Tensor | None,
) -> WordNeighbours:
    neighbours = tuple(Neighbour(spelling[id_], id_, value, _count(counts, (id_,))) for id_, value in near)
    return WordNeighbours(word, ids, _count(counts, ids), neighbours)


def embedding_table(model_or_embeddings: nn.Module | Tensor, which: str = "input") -> Tensor:
    """Return a model's input or output embeddings, or the table itself: (vocab, hidden), detached, on its device.

    >>> embedding_table(torch.zeros(9, 4)).shape
    torch.Size([9, 4])

    Raises:
        ValueError: the model has no such table.
    """
    if which not in ("input", "output"):
        raise ValueError(f"which must be input or output, not {which!r}")
    if isinstance(model_or_embeddings, nn.Module):
        name = type(model_or_embeddings).__name__
        try:
            layer = getattr(model_or_embeddings, f"get_{which}_embeddings")()
        except (AttributeError, NotImplementedError):
            layer = None
        # A matrix that reads numbers has no vector for each word.
        table = None if which == "input" and isinstance(layer, nn.Linear) else getattr(layer, "weight", None)
        if not isinstance(table, Tensor):
            other = "input" if which == "output" else "output"
            raise ValueError(
                f"{name} has no {which} embeddings (a table with one vector per token): ask for which={other!r}, or "
                "choose a model with word vectors; an n-gram model, for example, has none"
            )
    else:
        name, table = "the table", model_or_embeddings
    if table.dim() != 2 or not table.is_floating_point():
        raise ValueError(
            f"{name}: embeddings are floating-point (vocab, hidden), not {table.dtype} {list(table.shape)}"
        )
    return table.detach()


def special_ids(tokenizer: Any) -> set[int]:
    """Return the ids of `<s>`, `<unk>`, `<pad>` and all other special tokens.

    >>> from hf_lecture_models import WordTokenizer
    >>> sorted(special_ids(WordTokenizer.from_words(["is", "was"])))
    [0, 3, 4, 5]

    Raises:
        ValueError: a token has no id of its own, as in ELMo, which reads a word's letters.
    """
    if any(isinstance(id_, list) for id_ in tokenizer.all_special_ids):
        raise ValueError(
            f"{type(tokenizer).__name__} gives each word a row of letters and not one id, so the model has no table "
            "with a vector for each word; choose a model with word vectors"
        )
    added = getattr(tokenizer, "added_tokens_decoder", {})
    return {*tokenizer.all_special_ids, *(id_ for id_, token in added.items() if token.special)}


def neighbour_rows(
    results: Sequence[WordNeighbours] | Mapping[str, Sequence[WordNeighbours]], similarities: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Return the columns and rows of the slide's table: word and frequency, model, neighbours.

    >>> found = WordNeighbours("is", ids=(1,), count=7, neighbours=(Neighbour("was", 2, 0.8), Neighbour("cat", 3, 0.1)))
    >>> neighbour_rows([found])
    (['word (freq.)', 'nearest neighbours'], [['is (7)', 'was cat']])

    Args:
        results: of one model, or of several by name for the same words; each word's rows come together.
        similarities: write each neighbour's similarity too.

    Raises:
        ValueError: the results are empty, or the models have different words.
    """
    models = results if isinstance(results, Mapping) else {"": results}
    words = [[found.word for found in model] for model in models.values()]
    if not words or not words[0] or any(other != words[0] for other in words):
        raise ValueError("nothing to compare: give each model's neighbours of the same words, one word at least")
    several = isinstance(results, Mapping)
    columns = ["word (freq.)", *(["model"] if several else []), "nearest neighbours"]
    rows = []
    for same_word in zip(*models.values(), strict=True):
        for number, (name, found) in enumerate(zip(models, same_word, strict=True)):
            count = "" if found.count is None else f" ({found.count:,})"
            near = [shown(n.word) + (f" {n.similarity:.2f}" if similarities else "") for n in found.neighbours]
            word = "" if number else shown(found.word) + count
            rows.append([word, *([name] if several else []), (", " if similarities else " ").join(near)])
    return columns, rows


def neighbour_table(
    results: Sequence[WordNeighbours] | Mapping[str, Sequence[WordNeighbours]], similarities: bool = False
) -> str:
    """Return the rows of `neighbour_rows` as a Markdown table, with Markdown's own characters escaped.

    >>> found = WordNeighbours("is", ids=(1,), count=None, neighbours=(Neighbour("was", 2, 0.8),))
    >>> print(neighbour_table({"LSTM": [found]}, similarities=True))
    | word (freq.) | model | nearest neighbours |
    | --- | --- | --- |
    | is | LSTM | was 0.80 |
    """
    columns, rows = neighbour_rows(results, similarities)
    lines = [columns, ["---"] * len(columns), *([_escape(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(word: str) -> str:
    r"""Return the word with invisible characters made visible: its spaces as ␣, or all of it quoted.

    >>> shown("was"), shown(" was"), shown("\n")
    ('was', '␣was', "'\\n'")
    """
    visible = word.replace(" ", "␣")
    return visible if visible and visible.isprintable() else repr(word)


def _escape(cell: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\|*_`<>[]~$&" else sign for sign in cell)


def _token_ids(tokenizer: Any, word: str, mean_of_pieces: bool) -> tuple[int, ...]:
    if not isinstance(word, str):
        raise TypeError(f"a word is a str, not {type(word).__name__} {word!r}")
    in_text, alone = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (f" {word}", word))
    ids = in_text if len(in_text) == 1 or len(alone) != 1 else alone
    # The tokenizer splits texts at spaces, so it never finds such a token.
    if len(word.split()) > 1 and word in (vocabulary := tokenizer.get_vocab()):
        ids = [vocabulary[word]]
    if not ids:
        raise ValueError(f"the word {word!r} has no token; leave it out")
    pieces = tokenizer.convert_ids_to_tokens(ids)
    # A word that is encoded as a special token, or as a class's token, is unknown.
    if word not in pieces and not (special_ids(tokenizer).isdisjoint(ids) and set(CLASS_TOKENS).isdisjoint(pieces)):
        raise ValueError(f"the word {word!r} is not in the vocabulary; check its spelling, or leave it out")
    if len(ids) > 1 and not mean_of_pieces:
        raise ValueError(
            f"the word {word!r} is {len(ids)} tokens ({' '.join(map(shown, pieces))}); "
            "take their mean with mean_of_pieces=True, or leave it out"
        )
    return tuple(ids)


def _rows(ids: Iterable[int], length: int) -> Tensor:
    mask = torch.zeros(length, dtype=torch.bool)
    mask[list(ids)] = True
    return mask


def _check_sizes(table: Tensor, spelling: dict[int, str], counts: Sequence[int] | Tensor | None) -> None:
    if max(spelling) >= len(table):
        raise ValueError(
            f"the tokenizer has ids up to {max(spelling)}, but the embeddings only {len(table)} rows; "
            "give the tokenizer that belongs to the model"
        )
    if counts is not None and len(counts) <= max(spelling):
        raise ValueError(f"counts has {len(counts)} entries; one per token, {max(spelling) + 1}, are needed")


def _count(counts: Sequence[int] | Tensor | None, ids: tuple[int, ...]) -> int | None:
    return None if counts is None or len(ids) != 1 else int(counts[ids[0]])


def _search(
    table: Tensor,
    words: Sequence[str],
    asked: Sequence[tuple[int, ...]],
    candidates: Tensor,
    include_itself: bool,
    k: int,
    metric: str,
) -> Iterator[list[tuple[int, float]]]:
    """Yield the `k` nearest rows of each word with their similarities, the nearest first."""
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {metric!r}")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    for begin in range(0, len(words), _WORDS):
        some = slice(begin, begin + _WORDS)
        queries = torch.stack([table[list(ids)].to("cpu", torch.float64).mean(0) for ids in asked[some]])
        if metric == "cosine":
            _refuse_zeros(words[some], queries)
        excluded = [() if include_itself else ids for ids in asked[some]]
        values, near = _nearest(table, queries, excluded, candidates, k, metric)
        for word, *found in zip(words[some], near.tolist(), values.tolist(), strict=True):
            enough = k - found[1].count(-math.inf)
            if enough < k:
                raise ValueError(f"{word!r} has only {enough} possible neighbours; lower k from {k}")
            yield list(zip(*found, strict=True))


def _nearest(
    table: Tensor, queries: Tensor, excluded: Sequence[tuple[int, ...]], candidates: Tensor, k: int, metric: str
) -> tuple[Tensor, Tensor]:
    """Return the `k` greatest similarities, (words, k), -inf where fewer rows are candidates, and their ids."""
    best = torch.full((len(queries), k), -math.inf, dtype=torch.float64)
    best_ids = torch.zeros(len(queries), k, dtype=torch.long)
    rows = max(1, _ELEMENTS // max(1, table.shape[1]))
    for begin in range(0, len(table), rows):
        block = table[begin : begin + rows].to("cpu", torch.float64)
        _refuse_not_finite(block, begin)
        similarities = _similarities(queries, block, metric)
        similarities[:, ~candidates[begin : begin + rows]] = -math.inf
        for row, own in enumerate(excluded):
            similarities[row, [id_ - begin for id_ in own if 0 <= id_ - begin < len(block)]] = -math.inf
        ids = torch.arange(begin, begin + len(block)).expand(len(queries), -1)
        # The sort is stable and the ids ascend, so among equal values the lower id comes first.
        values, order = torch.cat([best, similarities], 1).sort(dim=1, descending=True, stable=True)
        best, best_ids = values[:, :k], torch.cat([best_ids, ids], 1).gather(1, order[:, :k])
    return best, best_ids


def _similarities(queries: Tensor, block: Tensor, metric: str) -> Tensor:
    """Return similarities (words, rows), rounded so that equal vectors are equally near."""
    if metric == "euclidean":
        # The product form |u|² + |v|² - 2 u·v would lose small distances.
        values = -torch.cdist(queries, block, compute_mode="donot_use_mm_for_euclid_dist")
    else:
        values = (queries / queries.norm(dim=1, keepdim=True)) @ (block / block.norm(dim=1, keepdim=True)).T
        values = values.nan_to_num(nan=-math.inf, posinf=-math.inf)  # rows of zeros
    # Adding zero turns -0.0 into 0.0.
    return values.round(decimals=_DECIMALS) + 0.0


def _refuse_zeros(words: Sequence[str], queries: Tensor) -> None:
    for word, zero in zip(words, (queries.norm(dim=1) == 0).tolist(), strict=True):
        if zero:
            raise ValueError(
                f"the vector of {word!r} is zero and has no direction; use metric='euclidean', or train it"
            )


def _refuse_not_finite(block: Tensor, begin: int) -> None:
    bad = (~block.isfinite()).any(1).nonzero()
    if len(bad):
        raise ValueError(
            f"the embeddings hold NaN or infinity, first in row {begin + int(bad[0])}; "
            "training diverged or the file is damaged: take an earlier checkpoint"
        )
