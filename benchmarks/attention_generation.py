# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`generate()` of GPT-1 and of the self-attention model beside transformers' GPT-2 of equal shape, by context length.

    OMP_NUM_THREADS=1 python -m benchmarks.attention_generation [--new_tokens 32] [--contexts 64 256 512 900]

Greedy, from a prompt of so many random tokens, all models in turns. Reading the prompt is timed by itself (`generate()`
of one token) and taken off. Figures: tokens per second of all rows together, and the median over repeats of GPT-2's
seconds over ours: above 1, ours is faster. CPU seconds of one thread, on a GPU wall seconds.
"""

import argparse
import statistics
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from benchmarks.common import new_parser, write_results
from benchmarks.training_steps import clock, ratio, read_shape
from hf_lecture_models import Gpt1Config, Gpt1ForCausalLM, SelfAttentionConfig, SelfAttentionForCausalLM

PEER = "gpt2"


def build(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return models of one shape, in evaluation mode."""
    sizes = {
        "vocab_size": arguments.vocab_size,
        "hidden_size": arguments.hidden_size,
        "num_hidden_layers": arguments.layers,
        "num_attention_heads": arguments.heads,
        "max_position_embeddings": max(arguments.contexts) + arguments.new_tokens,
    }
    peer = GPT2Config(
        vocab_size=arguments.vocab_size,
        n_embd=arguments.hidden_size,
        n_layer=arguments.layers,
        n_head=arguments.heads,
        n_positions=sizes["max_position_embeddings"],
        bos_token_id=0,
        eos_token_id=0,
    )
    models = {
        PEER: GPT2LMHeadModel(peer),
        "gpt1": Gpt1ForCausalLM(Gpt1Config(**sizes)),
        "self_attention": SelfAttentionForCausalLM(SelfAttentionConfig(**sizes, position_encoding="learned")),
    }
    return {name: model.eval().to(arguments.device) for name, model in models.items()}


def seconds(model: Any, prompt: torch.Tensor, new_tokens: int) -> float:
    """Return the seconds that `generate()` takes for so many tokens."""
    options = {"do_sample": False, "pad_token_id": 0, "min_new_tokens": new_tokens, "max_new_tokens": new_tokens}
    begin = clock(prompt.device.type)
    generated = model.generate(prompt, attention_mask=torch.ones_like(prompt), **options)
    taken = clock(prompt.device.type) - begin
    assert generated.shape[1] == prompt.shape[1] + new_tokens
    return taken


def measure(models: dict[str, Any], batch: int, context: int, arguments: argparse.Namespace) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    prompt = torch.randint(arguments.vocab_size, (batch, context), generator=generator).to(arguments.device)
    read: dict[str, list[float]] = {name: [] for name in models}
    steps: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(arguments.repeats):
        for name, model in models.items():
            read[name].append(seconds(model, prompt, 1))
            steps[name].append(seconds(model, prompt, arguments.new_tokens) - read[name][-1])
    result: dict[str, Any] = {"batch": batch, "context": context}
    for name in models:
        generated = batch * (arguments.new_tokens - 1)
        result[f"{name}: tokens per second"] = round(generated / statistics.median(steps[name]))
    for name in models:
        if name != PEER:
            for what, times in (("steps", steps), ("prompt", read)):
                result[f"{PEER} / {name}, {what}"] = ratio(times[PEER], times[name])
    return result


def main() -> None:
    parser = new_parser(__doc__)
    sizes = {"hidden_size": 256, "layers": 4, "heads": 4, "vocab_size": 8_192, "new_tokens": 32, "repeats": 7}
    parser.add_argument("--contexts", type=int, nargs="*", default=[64, 256, 512, 900])
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 16])
    arguments, results = read_shape(parser, sizes)
    torch.manual_seed(0)
    models = build(arguments)
    for model in models.values():
        seconds(model, torch.ones(1, 8, dtype=torch.long, device=arguments.device), 4)
    results["rows"] = []
    for batch in arguments.batches:
        for context in arguments.contexts:
            results["rows"].append(measure(models, batch, context, arguments))
            print(results["rows"][-1], flush=True)
    write_results("attention_generation", results)


if __name__ == "__main__":
    main()
