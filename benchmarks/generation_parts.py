# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Where a step of `generate()` spends its time, in the models of `attention_generation`, measured in turns.

    OMP_NUM_THREADS=1 python -m benchmarks.generation_parts [--batches 1 16] [--contexts 64]

Milliseconds of a step by part, the median over repeats; a step is one more token for each row, and reading the prompt
is taken off. Each part is timed around the calls of its modules: "the rest of forward" has the time of the clock, too.
"""

import argparse
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.nn import functional
from transformers.pytorch_utils import Conv1D

from benchmarks.attention_generation import build, seconds
from benchmarks.common import new_parser, write_results
from benchmarks.training_steps import clock, read_shape

LINEAR, ATTENTION, NORMS = "linear layers", "attention", "norms"
FORWARD, AROUND = "the rest of forward", "generate() around it"


@contextmanager
def timed_parts(model: nn.Module, device: str) -> Iterator[Counter[str]]:
    """Count the seconds of each part within the block, in the `Counter` that it gets; `forward` as a whole."""
    spent: Counter[str] = Counter()
    begun: list[float] = []

    def end(part: str) -> Callable[..., None]:
        return lambda *_: spent.update({part: clock(device) - begun.pop()})

    def attend(*args: Any, **options: Any) -> torch.Tensor:
        begun.append(clock(device))
        output = kernel(*args, **options)
        end(ATTENTION)()
        return output

    kernel, parts = functional.scaled_dot_product_attention, {model: FORWARD}
    for module in model.modules():
        if isinstance(module, nn.Linear | Conv1D):
            parts[module] = LINEAR
        elif isinstance(module, nn.LayerNorm):
            parts[module] = NORMS
    hooks = [module.register_forward_pre_hook(lambda *_: begun.append(clock(device))) for module in parts]
    hooks += [module.register_forward_hook(end(part)) for module, part in parts.items()]
    try:
        with mock.patch.object(functional, "scaled_dot_product_attention", attend):
            yield spent
    finally:
        for hook in hooks:
            hook.remove()


def parts_of_a_step(model: Any, prompt: torch.Tensor, new_tokens: int) -> dict[str, float]:
    """Return the milliseconds of a step after the prompt, by part."""
    found = []
    for tokens in (new_tokens, 1):
        with timed_parts(model, prompt.device.type) as spent:
            spent[AROUND] = seconds(model, prompt, tokens) - spent[FORWARD]
        spent[FORWARD] -= sum(spent[part] for part in (LINEAR, ATTENTION, NORMS))
        found.append(spent)
    steps, reading = found
    parts = (LINEAR, ATTENTION, NORMS, FORWARD, AROUND)
    return {part: 1000 * (steps[part] - reading[part]) / (new_tokens - 1) for part in parts}


def measure(models: dict[str, Any], batch: int, context: int, arguments: argparse.Namespace) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    prompt = torch.randint(arguments.vocab_size, (batch, context), generator=generator).to(arguments.device)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in models}
    for _ in range(arguments.repeats):
        for name, model in models.items():
            found[name].append(parts_of_a_step(model, prompt, arguments.new_tokens))
    row: dict[str, Any] = {"batch": batch, "context": context}
    for name, repeats in found.items():
        row[name] = {part: round(statistics.median(one[part] for one in repeats), 3) for part in repeats[0]}
    return row


def main() -> None:
    parser = new_parser(__doc__)
    sizes = {"hidden_size": 256, "layers": 4, "heads": 4, "vocab_size": 8_192, "new_tokens": 32, "repeats": 7}
    parser.add_argument("--contexts", type=int, nargs="*", default=[64])
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 16])
    arguments, results = read_shape(parser, sizes)
    torch.manual_seed(0)
    models = build(arguments)
    results["rows"] = []
    for batch in arguments.batches:
        for context in arguments.contexts:
            row = measure(models, batch, context, arguments)
            results["rows"].append(row)
            for name in models:
                print(f"{batch:3} x {context:4} {name:16} {sum(row[name].values()):7.2f} ms  {row[name]}", flush=True)
    write_results("generation_parts", results)


if __name__ == "__main__":
    main()
