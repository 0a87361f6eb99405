# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Prompts and their continuations as text, by `generate()` of any causal language model."""

from typing import Any

import torch

from hf_lecture_models.base.limits import input_limit


@torch.no_grad()
def complete(model: Any, tokenizer: Any, prompts: list[str], **options: Any) -> list[dict[str, Any]]:
    """Continue prompts by `model.generate(**options)`; the empty prompt starts from `<s>`.

    Args:
        options: of `generate`; `max_new_tokens` is required.

    Returns:
        Per continuation {"prompt", "completion", "text", "tokens" (new ones, the end included), "finished"}.

    Raises:
        ValueError: prompt and continuation are longer than the model's longest input, or the tokenizer has no end.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["a cat ran"], progress=False)
    >>> options = {"order": 2, "smoothing": "maximum_likelihood", "progress": False}
    >>> model = NGramForCausalLM.fit(["a cat ran"], tokenizer, **options)
    >>> complete(model, tokenizer, ["a"], max_new_tokens=5)
    [{'prompt': 'a', 'completion': ' cat ran', 'text': 'a cat ran', 'tokens': 3, 'finished': True}]
    """
    start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if start is None:
        raise ValueError(
            "the tokenizer has neither bos_token nor eos_token, so nothing says where a text begins or ends"
        )
    rows = [tokenizer(prompt)["input_ids"] or [start] for prompt in prompts]
    width = max(map(len, rows))
    longest = input_limit(model)
    if longest and width + options["max_new_tokens"] > longest:
        raise ValueError(
            f"a prompt of {width} tokens and {options['max_new_tokens']} new ones exceed the model's longest input, "
            f"{longest}; shorten the prompt or ask for fewer new tokens"
        )
    pad = start if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    ids = torch.tensor([[pad] * (width - len(row)) + row for row in rows], device=model.device)
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=model.device)
    output = model.generate(input_ids=ids, attention_mask=mask, pad_token_id=pad, **options).tolist()
    copies = options.get("num_return_sequences", 1)
    return [
        _completion(tokenizer, prompts[number // copies], rows[number // copies], generated[width:], {start, pad})
        for number, generated in enumerate(output)
    ]


def _completion(tokenizer: Any, prompt: str, row: list[int], new: list[int], hidden: set[int]) -> dict[str, Any]:
    finished = tokenizer.eos_token_id in new
    new = new[: new.index(tokenizer.eos_token_id)] if finished else new
    # The prompt stays as it was typed; what follows is spaced as the tokenizer spaces the whole.
    before = [token for token in row if token not in hidden]
    whole = tokenizer.decode(before + [token for token in new if token not in hidden])
    completion = whole[len(tokenizer.decode(before)) :]
    return {
        "prompt": prompt,
        "completion": completion,
        "text": prompt + completion,
        "tokens": len(new) + finished,
        "finished": finished,
    }
