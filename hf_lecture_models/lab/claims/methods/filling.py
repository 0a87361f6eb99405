# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts whose words a masked or a causal language model fills in, judged by an n-gram model of other texts."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.lab.claims.methods.texts import by_article, part_texts, read_part
from hf_lecture_models.lab.claims.methods.training import all_but, train_once
from hf_lecture_models.lab.claims.values import Values
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer


class Gaps(NamedTuple):
    """Texts with gaps: ids (texts, words), padded on the right; `real` words; and `gaps`, the places to fill."""

    ids: Tensor
    real: Tensor
    gaps: Tensor


def filled_texts(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> Values:
    """Return 100 ln P of a word of each article after some were drawn again, weighted by its words.

    Captions of Multi30k are articles of their own.

    P is that of a trigram model of training texts that the filling model has not seen. Each word is drawn from the
    model's distribution as it is, so a model does not win by always choosing the most frequent word.

    Args:
        settings: `by`: "masked", a masked language model fills the gaps in a random order and sees the words on both
            sides; "causal", a causal one fills them from left to right and sees the words before; "frequencies", words
            are drawn as often as they occur; `share` of the words that become gaps; `models`, for "masked" and
            "causal" the settings of `train_model`; `texts` and `most` of `part_texts`; `lines`, the number of training
            texts of the filling model, the others are the judge's; `longest`, words of a text.
    """
    shared = all_but(settings, "by", "share", "models", "longest")
    longest, lines = settings["longest"], settings["lines"]
    training = [" ".join(text.split()[:longest]) for text in part_texts(settings, "train")]
    whole, articles = read_part(settings, part)
    texts = [text.split()[:longest] for text in whole]
    chance = torch.Generator().manual_seed(seed)
    gaps = [torch.rand(len(text), generator=chance) < settings["share"] for text in texts]
    if settings["by"] == "frequencies":
        counts = Counter(word for text in training[:lines] for word in text.split())
        filled = _drawn(texts, counts, gaps, chance)
    else:
        own = {"train_texts": training[:lines], "validation_texts": [" ".join(words) for words in texts]}
        trained = train_once({**shared, **settings["models"][settings["by"]], **own}, seed, folder)
        filled = fill(trained.model, trained.processor, texts, gaps, chance, settings["by"])
    judge = WordTokenizer.train(training[lines:], min_count=2, progress=False)
    ngrams = NGramForCausalLM.fit(training[lines:], judge, order=3, smoothing="modified_kneser_ney", progress=False)
    scores = score_texts(ngrams, judge, [" ".join(words) for words in filled])
    return by_article([100 * one.log_prob for one in scores], [len(one.log_probs) for one in scores], articles)


def _drawn(
    texts: Sequence[Sequence[str]], counts: Counter[str], gaps: Sequence[Tensor], chance: torch.Generator
) -> list[list[str]]:
    words, weights = list(counts), torch.tensor(list(counts.values()), dtype=torch.float)
    filled = []
    for text, is_gap in zip(texts, gaps, strict=True):
        new = torch.multinomial(weights, len(text), replacement=True, generator=chance)
        filled.append([words[i] if gap else word for word, gap, i in zip(text, is_gap, new, strict=True)])
    return filled


def fill(
    model: Any,
    tokenizer: Any,
    texts: Sequence[Sequence[str]],
    gaps: Sequence[Tensor],
    chance: torch.Generator,
    by: str,
) -> list[list[str]]:
    """Return texts, lists of words, after a model drew the words of some places again.

    Args:
        gaps: for each text (words,) bool, True where a word is drawn.
        by: "masked" or "causal", as in `filled_texts`.
    """
    encoded = [torch.tensor(tokenizer(" ".join(text), add_special_tokens=False)["input_ids"]) for text in texts]
    ids = pad_sequence(encoded, batch_first=True, padding_value=tokenizer.pad_token_id)
    real = pad_sequence([torch.ones_like(gap) for gap in gaps], batch_first=True)
    rows = Gaps(ids, real, pad_sequence(list(gaps), batch_first=True))
    with torch.no_grad():
        found = _FILLERS[by](model, tokenizer, rows, chance)
    filled = [list(text) for text in texts]
    for row, place in rows.gaps.nonzero().tolist():
        filled[row][place] = tokenizer.convert_ids_to_tokens(int(found[row, place]))
    return filled


def _fill_masked(model: Any, tokenizer: Any, texts: Gaps, chance: torch.Generator) -> Tensor:
    """Fill one gap of each text after the other, in a random order."""
    rows = torch.arange(len(texts.ids))
    begin, end = (torch.full((len(rows), 1), id_) for id_ in (tokenizer.cls_token_id, tokenizer.sep_token_id))
    ids = texts.ids.masked_fill(texts.gaps, tokenizer.mask_token_id)
    # [SEP] stands after the last word, before the padding.
    ids = torch.cat((begin, ids, torch.full_like(begin, tokenizer.pad_token_id)), 1)
    ids[rows, 1 + texts.real.sum(1)] = end[:, 0]
    mask = (ids != tokenizer.pad_token_id).long()
    order = torch.rand(texts.gaps.shape, generator=chance).masked_fill(~texts.gaps, 2).argsort(1)
    for step in range(int(texts.gaps.sum(1).max())):
        open_rows = rows[texts.gaps.sum(1) > step]
        places = 1 + order[open_rows, step]
        logits = model(input_ids=ids[open_rows], attention_mask=mask[open_rows]).logits
        ids[open_rows, places] = _draw(logits[torch.arange(len(open_rows)), places], tokenizer, chance)
    return ids[:, 1:-1]


def _fill_causal(model: Any, tokenizer: Any, texts: Gaps, chance: torch.Generator) -> Tensor:
    """Fill the gaps of all texts from left to right."""
    begin = torch.full((len(texts.ids), 1), tokenizer.bos_token_id)
    ids = torch.cat((begin, texts.ids), 1)
    for place in range(texts.ids.shape[1]):
        if (rows := texts.gaps[:, place]).any():
            logits = model(input_ids=ids[rows, : place + 1]).logits[:, -1]
            ids[rows, place + 1] = _draw(logits, tokenizer, chance)
    return ids[:, 1:]


def _draw(logits: Tensor, tokenizer: Any, chance: torch.Generator) -> Tensor:
    """Draw a word from each row of logits, (rows, vocab): no special token and no unknown word."""
    logits = logits.clone()
    logits[:, tokenizer.all_special_ids] = -torch.inf
    return torch.multinomial(logits.softmax(-1), 1, generator=chance)[:, 0]


_FILLERS: dict[str, Callable[[Any, Any, Gaps, torch.Generator], Tensor]] = {
    "masked": _fill_masked,
    "causal": _fill_causal,
}
