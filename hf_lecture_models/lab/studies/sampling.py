# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A corpus drawn from a language model, to estimate another model from, such as an n-gram from a network.

The tables of the n-gram then hold some of the network's knowledge of long contexts (A. Deoras et al., Variational
Approximation of Long-Span Language Models for LVCSR, 2011):

    texts = sample_texts(network, tokenizer, tokens=2_000_000)
    distilled = NGramForCausalLM.fit(texts, tokenizer, order=3)
    mixed = NGramForCausalLM.interpolate([ngram_of_the_corpus, distilled], tokenizer, held_out)
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import GenerationConfig

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import check_tokenizer, input_limit
from hf_lecture_models.evaluation.encoding import end_ids, start_token_id
from hf_lecture_models.evaluation.scoring import ContextLimit
from hf_lecture_models.io.compat import cache_of
from hf_lecture_models.io.progress import ProgressBar

# Tokens whose probabilities are summed first.
_BLOCK = 128


@torch.no_grad()
def sample_texts(
    model: Any,
    tokenizer: Any,
    tokens: int,
    rows: int = 128,
    longest: int = 1000,
    seed: int = 0,
    progress: bool = False,
) -> list[str]:
    """Draw whole texts from a causal language model, until they have `tokens` tokens.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["the cat sat", "the dog sat", "a dog ran"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="maximum_likelihood")
    >>> sorted(set(sample_texts(model, tokenizer, tokens=200)))
    ['a dog ran', 'a dog sat', 'the cat sat', 'the dog ran', 'the dog sat']

    A model that returns its state writes `rows` streams, `<s> ... </s> <s> ... </s>`, which `score_stream` reads: each
    text follows those before it. Any other model writes each text from `<s>` on, by `generate()`.

    Args:
        model: any causal language model of transformers.
        tokenizer: its tokenizer, with an end of text.
        tokens: least number of tokens, `</s>` included. After that many no new text is begun, but all begun texts are
            finished, so that long texts are as frequent as they should be.
        rows: texts that are written at once.
        longest: most tokens of a text; a longer one is cut.
        seed: the same seed draws the same texts, from the same model with the same `rows`.

    Raises:
        ValueError: the tokenizer has no end of text or is another model's, or a number is not positive.
    """
    for name, value in (("tokens", tokens), ("rows", rows), ("longest", longest)):
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be at least 1")
    end_ids(tokenizer)  # an error if texts cannot end
    check_tokenizer(model, tokenizer)
    draw = _streams if ContextLimit.of(model).carries_state else _apart
    with evaluation_mode(model), ProgressBar(total=tokens, unit="token", unit_scale=True, shown=progress) as bar:
        found = draw(model, tokenizer, tokens, min(rows, tokens), longest, seed, bar)
    return tokenizer.batch_decode(found, clean_up_tokenization_spaces=False)


def draw_tokens(logits: Tensor, excluded: list[int], generator: torch.Generator) -> Tensor:
    """Draw one token per row from softmax(logits) without the excluded tokens: (rows, vocab) -> (rows,).

    >>> draw_tokens(torch.tensor([[0.0, 9.0, 0.0]]), [0, 1], torch.Generator()).tolist()
    [2]
    """
    logits = logits.float()
    logits[:, excluded] = -torch.inf
    blocks = functional.pad(logits.softmax(-1), (0, -logits.shape[-1] % _BLOCK)).unflatten(-1, (-1, _BLOCK))
    # Find the block in which a point among the summed probabilities falls, then the token in it. One sum over the
    # vocabulary would take longer than the model, and torch.multinomial twice as long again.
    totals = blocks.sum(-1, dtype=torch.float64)
    points = torch.rand(len(totals), 1, generator=generator, dtype=torch.float64, device=totals.device)
    block, rest = _find(totals, points * totals.sum(-1, keepdim=True))
    inside, _ = _find(blocks[torch.arange(len(blocks)), block].double(), rest)
    return (block * _BLOCK + inside).clamp_(max=logits.shape[-1] - 1)


def _find(weights: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
    """Return on which of (rows, many) weights each (rows, 1) point falls, (rows,), and how far into it, (rows, 1)."""
    ends = weights.cumsum(-1)
    found = torch.searchsorted(ends, points, right=True).clamp_(max=weights.shape[-1] - 1)
    return found.squeeze(1), points - (ends - weights).gather(1, found)


def _never_drawn(tokenizer: Any) -> list[int]:
    """Return the ids of `<s>` and padding, unless they also end a text."""
    ids = {start_token_id(tokenizer), tokenizer.bos_token_id, tokenizer.pad_token_id}
    return sorted(id_ for id_ in ids if id_ is not None and id_ != tokenizer.eos_token_id)


def _streams(model: Any, tokenizer: Any, tokens: int, rows: int, longest: int, seed: int, bar: Any) -> list[list[int]]:
    """Draw texts as ids from a model that returns its state: rows side by side, each one text after the other."""
    start, end, excluded = start_token_id(tokenizer), tokenizer.eos_token_id, _never_drawn(tokenizer)
    generator = torch.Generator(model.device).manual_seed(seed)
    texts: list[list[int]] = []
    begun: list[list[int] | None] = [[] for _ in range(rows)]  # None between an end and the next text
    ids, cache, count = torch.full((rows, 1), start, device=model.device), None, 0
    while begun:
        output = model(input_ids=ids, past_key_values=cache, use_cache=True)
        drawn = draw_tokens(output.logits[:, -1], excluded, generator).tolist()
        for row, text in enumerate(begun):
            if text is None:
                begun[row], drawn[row] = [], start
            elif drawn[row] == end or len(text) == longest - 1:
                begun[row], drawn[row] = None, end
                texts.append(text)
                count += len(text) + 1
                bar.update(len(text) + 1)
            else:
                text.append(drawn[row])
        kept = [row for row, text in enumerate(begun) if text or count < tokens]
        if len(kept) < len(begun):
            cache_of(output).batch_select_indices(torch.tensor(kept, dtype=torch.long, device=model.device))
        ids = torch.tensor([[drawn[row]] for row in kept], device=model.device)
        begun, cache = [begun[row] for row in kept], cache_of(output)
    return texts


def _apart(model: Any, tokenizer: Any, tokens: int, rows: int, longest: int, seed: int, bar: Any) -> list[list[int]]:
    """Draw texts as ids, each from `<s>` on, in batches of `generate()`."""
    start, end = start_token_id(tokenizer), tokenizer.eos_token_id
    limit = input_limit(model)
    config = GenerationConfig(
        do_sample=True,
        top_k=0,
        max_new_tokens=longest if limit is None else min(longest, limit - 1),
        suppress_tokens=_never_drawn(tokenizer) or None,
        bos_token_id=start,
        eos_token_id=end,
        pad_token_id=end,
    )
    prompt = torch.full((rows, 1), start, device=model.device)
    texts: list[list[int]] = []
    count = 0
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        while count < tokens:
            written = model.generate(prompt, attention_mask=torch.ones_like(prompt), generation_config=config)
            for row in written[:, 1:].tolist():
                text = row[: row.index(end)] if end in row else row[: longest - 1]
                texts.append(text)
                count += len(text) + 1
                bar.update(len(text) + 1)
    return texts
