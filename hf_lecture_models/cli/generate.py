# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture generate`: prompts with their continuations."""

import sys
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from hf_lecture_models.base.limits import input_limit
from hf_lecture_models.cli.io import line_chunks, print_json
from hf_lecture_models.generation.completion import complete
from hf_lecture_models.generation.fusion import NGramLogitsProcessor
from hf_lecture_models.loading import load_model


def run(
    name: str,
    prompts: list[str],
    files: list[str],
    max_new_tokens: int | None,
    options: dict[str, Any],
    seed: int | None,
    fuse: str | None,
    fuse_weight: float | None,
    json: bool,
    batch_size: int,
) -> None:
    """Print each prompt with its continuation, as soon as its batch is ready."""
    model, tokenizer = load_model(name, AutoModelForCausalLM)
    if fuse is not None and fuse_weight is not None:
        added, added_tokenizer = load_model(fuse, AutoModelForCausalLM)
        processor = NGramLogitsProcessor(added, tokenizer, fuse_weight, added_tokenizer)
        options = options | {"logits_processor": [processor]}
    if options.get("do_sample", False):
        torch.seed() if seed is None else torch.manual_seed(seed)
        batch_size = 1  # the sample of a prompt must not depend on the others in its batch
    length: dict[str, Any] = {"stop_at_limit": True} if max_new_tokens is None else {"max_new_tokens": max_new_tokens}
    chunks = iter([prompts]) if prompts and not files else line_chunks(files or ["-"], batch_size, before=prompts)
    at_limit = 0
    for chunk in chunks:
        for start in range(0, len(chunk), batch_size):
            for result in complete(model, tokenizer, chunk[start : start + batch_size], **length, **options):
                print_json(result) if json else print(result["text"])
                at_limit += result["stopped_at_limit"]
            sys.stdout.flush()
    if at_limit:
        longest = input_limit(model)
        print(
            f"hf-lecture generate: {at_limit} stopped at {longest} tokens, the model's longest input", file=sys.stderr
        )
