# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Gradient checkpointing off and on: memory and CPU seconds of a training step, by depth (slide Y:591-594).

    OMP_NUM_THREADS=1 python -m benchmarks.gradient_checkpointing [--hidden_size 256] [--length 256]

With it, a block keeps its input alone and computes the rest again in the backward pass. The model is `self_attention`
in float32. "MiB" is the largest resident memory (VmHWM) of a process of its own that builds the model and trains it
for two steps, less the memory before: weights, gradients and the optimizer's two moments are in it. The process
returns what it frees, so that this is the largest memory in use; "MiB with glibc's heap" is the same where the heap
keeps freed blocks, as it does by default. "MiB per block" is the growth from the least to the greatest depth. Seconds
are the median of steps taken in turns.
"""

import argparse
import statistics

import torch

from benchmarks.attention_training import tokens
from benchmarks.common import new_parser, return_freed_memory, write_results
from benchmarks.training_steps import Run, added_mib, ratio, read_shape, take_turns, warm_up_of
from hf_lecture_models import SelfAttentionConfig, SelfAttentionForCausalLM

KINDS = {"off": False, "on": True}
DEPTHS = (4, 12)


def make_run(shape: argparse.Namespace, depth: int, recompute: bool) -> Run:
    """Return a run of a model of so many blocks."""
    sizes = {"vocab_size": shape.vocab_size, "hidden_size": shape.hidden_size, "num_attention_heads": shape.heads}
    sizes |= {"num_hidden_layers": depth, "max_position_embeddings": shape.length}
    torch.manual_seed(0)
    model = SelfAttentionForCausalLM(SelfAttentionConfig(**sizes, dropout=0.0, gradient_checkpointing=recompute))
    return Run(model.train().to(shape.device), bf16=False, use_cache=False, logits_to_keep=1)


def two_steps(shape: argparse.Namespace, depth: int, recompute: bool) -> None:
    """Train a new model on two batches."""
    run = make_run(shape, depth, recompute)
    for seed in range(2):
        run.step(tokens(shape, seed))


def two_steps_in_use(shape: argparse.Namespace, depth: int, recompute: bool) -> None:
    """Train a new model on two batches, in a process that keeps no freed memory."""
    return_freed_memory()
    two_steps(shape, depth, recompute)


def measure(shape: argparse.Namespace, depth: int) -> dict[str, float]:
    """Return MiB and seconds, off and on, and the ratio of the seconds."""
    figures = {}
    for name, kind in KINDS.items():
        figures[f"{name}: MiB"] = added_mib(shape.device, two_steps_in_use, shape, depth, kind)
        figures[f"{name}: MiB with glibc's heap"] = added_mib(shape.device, two_steps, shape, depth, kind)
    runs = {name: make_run(shape, depth, kind) for name, kind in KINDS.items()}
    seconds = take_turns(runs, (tokens(shape, seed) for seed in range(warm_up_of(shape.device) + shape.steps)))
    figures |= {f"{name}: seconds": round(statistics.median(each), 3) for name, each in seconds.items()}
    return figures | {"seconds, on / off": ratio(seconds["on"], seconds["off"])}


def per_block(rows: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the MiB that a further block adds, off and on."""
    least, most = min(DEPTHS), max(DEPTHS)
    grown = {name: rows[str(most)][f"{name}: MiB"] - rows[str(least)][f"{name}: MiB"] for name in KINDS}
    return {name: round(mib / (most - least), 1) for name, mib in grown.items()}


def main() -> None:
    parser = new_parser(__doc__)
    sizes = {"hidden_size": 256, "heads": 4, "length": 256, "batch": 8, "vocab_size": 8_192, "steps": 4}
    shape, results = read_shape(parser, sizes)
    rows: dict[str, dict[str, float]] = {}
    for depth in DEPTHS:
        rows[str(depth)] = measure(shape, depth)
        print(f"{depth} blocks", *(f"  {name}: {value}" for name, value in rows[str(depth)].items()), sep="\n")
    results |= {"depths": rows, "MiB per block": per_block(rows)}
    print(f"MiB per block: {results['MiB per block']}")
    write_results("gradient_checkpointing", results)


if __name__ == "__main__":
    main()
