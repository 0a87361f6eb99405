# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Prompts and their continuations as text, by `generate()` of any causal language model."""

from typing import Any

import torch

from hf_lecture_models.base.limits import input_limit
from hf_lecture_models.evaluation.encoding import start_token_id


@torch.no_grad()
def complete(
    model: Any,
    tokenizer: Any,
    prompts: list[str],
    max_new_tokens: int = 50,
    stop_at_limit: bool = False,
    **options: Any,
) -> list[dict[str, Any]]:
    """Continue prompts by `model.generate(**options)`; the empty prompt starts from `<s>`.

    Args:
        max_new_tokens: for each prompt, the end of the text included.
        stop_at_limit: generate fewer tokens after a prompt if the model cannot read so many; False: refuse the prompt.
        options: of `generate`.

    Returns:
        Per continuation {"prompt", "completion", "text", "tokens" (new ones, the end included), "finished" (the model
        ended the text), "stopped_at_limit" (the model could not read any more)}.

    Raises:
        ValueError: prompt and continuation exceed the model's longest input; or a prompt is empty, and the tokenizer
            does not have a token that an empty text could begin with.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["a cat ran"], progress=False)
    >>> options = {"order": 2, "smoothing": "maximum_likelihood", "progress": False}
    >>> model = NGramForCausalLM.fit(["a cat ran"], tokenizer, **options)
    >>> complete(model, tokenizer, ["a"], max_new_tokens=5)[0]["text"]
    'a cat ran'
    """
    rows = [_begun(tokenizer(prompt)["input_ids"], tokenizer) for prompt in prompts]
    longest = input_limit(model)
    limits = [_new_tokens(len(row), longest, max_new_tokens, stop_at_limit) for row in rows]
    results: dict[int, list[dict[str, Any]]] = {}
    # Prompts with the same limit together, so that the completion of one does not depend on the others.
    for limit in dict.fromkeys(limits):
        places = [place for place, one in enumerate(limits) if one == limit]
        found = generate_rows(model, tokenizer, [rows[place] for place in places], max_new_tokens=limit, **options)
        for place, new in zip(places, found, strict=True):
            results[place] = [
                _result(tokenizer, prompts[place], rows[place], ids, limit < max_new_tokens) for ids in new
            ]
    return [result for place in range(len(prompts)) for result in results[place]]


def _begun(row: list[int], tokenizer: Any) -> list[int]:
    """Return the ids of a prompt with a token that begins a text, once: some prompts are written with `<s>`."""
    while len(row) > 1 and row[0] == row[1] == tokenizer.bos_token_id:
        row = row[1:]
    return row or [start_token_id(tokenizer)]


def _new_tokens(length: int, longest: int | None, wanted: int, stop_at_limit: bool) -> int:
    """Return how many tokens can follow a prompt of this length."""
    possible = wanted if longest is None else min(wanted, longest + 1 - length)  # the last token is never read
    if possible < (1 if stop_at_limit else wanted):
        raise ValueError(
            f"a prompt of {length} tokens and {wanted} new ones exceed the model's longest input, {longest}; shorten "
            f"the prompt{' or ask for fewer new tokens' if possible > 0 else ''}"
        )
    return possible


def generate_rows(model: Any, tokenizer: Any, rows: list[list[int]], **options: Any) -> list[list[list[int]]]:
    """Return, for each row, the new tokens of each of its continuations."""
    width, copies = max(map(len, rows)), options.get("num_return_sequences", 1)
    known = (tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id)
    pad = next((token for token in known if token is not None), 0)  # the mask hides it
    ids = torch.tensor([[pad] * (width - len(row)) + row for row in rows], device=model.device)
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=model.device)
    output = model.generate(input_ids=ids, attention_mask=mask, pad_token_id=pad, **options)[:, width:].tolist()
    return [output[first : first + copies] for first in range(0, len(output), copies)]


def _result(tokenizer: Any, prompt: str, row: list[int], new: list[int], limited: bool) -> dict[str, Any]:
    hidden = {tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id}
    finished = tokenizer.eos_token_id in new
    new = new[: new.index(tokenizer.eos_token_id)] if finished else new
    # The prompt stays as it was typed; the spaces of the completion are those of the whole text.
    before = [token for token in row if token not in hidden]
    whole = tokenizer.decode(before + [token for token in new if token not in hidden])
    completion = whole[len(tokenizer.decode(before)) :]
    return {
        "prompt": prompt,
        "completion": completion,
        "text": prompt + completion,
        "tokens": len(new) + finished,
        "finished": finished,
        "stopped_at_limit": limited and not finished,
    }
