# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Training steps of BERT's masked language model beside transformers' BertForMaskedLM of equal shape.

    OMP_NUM_THREADS=1 python -m benchmarks.masked_lm_training [--steps 8] [--hidden_size 256 ...]
    python -m benchmarks.masked_lm_training --hidden_size 768 --layers 12 --heads 12 --length 512 --batch 32 \
        --vocab_size 30522 --steps 30                           # BERT base's own shape, on a GPU

Both read the same tokens in turns, 15 % of them to be predicted: forward, backward, AdamW. A ratio is the median over
steps of the peer's seconds over ours: above 1, ours is faster. Seconds are CPU seconds of one thread, on a GPU wall
seconds. "all logits" is ours with the logits of all positions (`logits_to_keep=0`); "padded" has rows of 50 to 100 % of
the length. Memory is what two steps add to the process (on a GPU, to what is allocated), each model in a
process of its own. "freed memory kept": once more in a process that keeps what it frees.
"""

import argparse
import statistics
from typing import Any

import torch
from torch import nn
from transformers import BertConfig, BertForMaskedLM

from benchmarks.common import keep_freed_memory, new_parser, write_results
from benchmarks.training_steps import Run, added_mib, note, ratio, read_shape, take_turns, warm_up_of
from hf_lecture_models import LectureBertConfig, LectureBertForMaskedLM

PEER = "transformers"
OURS = ("ours", "ours, all logits")
MASKED = 0.15


def build(name: str, shape: argparse.Namespace, dropout: float) -> nn.Module:
    """Return a model in training mode."""
    fields: dict[str, Any] = {
        "vocab_size": shape.vocab_size,
        "hidden_size": shape.hidden_size,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": 4 * shape.hidden_size,
        "max_position_embeddings": shape.length,
        "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": dropout,
    }
    model: nn.Module
    if name == PEER:
        model = BertForMaskedLM(BertConfig(**fields))
    else:
        model = LectureBertForMaskedLM(LectureBertConfig(**fields))
    return model.train().to(shape.device)


def make_run(name: str, shape: argparse.Namespace, dropout: float, bf16: bool) -> Run:
    options = {"logits_to_keep": 0} if "all logits" in name else {}
    return Run(build(name, shape, dropout), bf16, compiled="compiled" in name, **options)


def batch_of(shape: argparse.Namespace, seed: int, padded: bool) -> dict[str, torch.Tensor]:
    """Return random tokens, with token 1 as the mask."""
    generator = torch.Generator().manual_seed(seed)
    size = (shape.batch, shape.length)
    ids, chosen = torch.randint(2, shape.vocab_size, size, generator=generator), torch.rand(size, generator=generator)
    batch = {}
    if padded:
        lengths = torch.randint(shape.length // 2, shape.length + 1, (shape.batch, 1), generator=generator)
        real = torch.arange(shape.length) < lengths
        ids, chosen, batch["attention_mask"] = ids.where(real, 0), chosen.where(real, 1.0), real.long()
    batch |= {"input_ids": ids.masked_fill(chosen < MASKED, 1), "labels": ids.where(chosen < MASKED, -100)}
    return {name: tensor.to(shape.device) for name, tensor in batch.items()}


def two_steps(name: str, shape: argparse.Namespace, dropout: float, bf16: bool) -> None:
    run = make_run(name, shape, dropout, bf16)
    for seed in range(2):
        run.step(batch_of(shape, seed, padded=False))


def measure(shape: argparse.Namespace, dropout: float, bf16: bool, padded: bool) -> dict[str, Any]:
    names = [PEER, *OURS, *([f"{OURS[0]}, compiled", f"{PEER}, compiled"] if shape.device == "cuda" else [])]
    results: dict[str, Any] = {}
    if not padded:
        for name in [name for name in names if "compiled" not in name]:
            results[f"{name}: MiB"] = added_mib(shape.device, two_steps, name, shape, dropout, bf16)
    torch.manual_seed(0)
    runs = {name: make_run(name, shape, dropout, bf16) for name in names}
    batches = (batch_of(shape, seed, padded) for seed in range(warm_up_of(shape.device) + shape.steps))
    seconds = take_turns(runs, batches)
    for name in names:
        results[f"{name}: tokens per second"] = round(shape.batch * shape.length / statistics.median(seconds[name]))
    for name in names:
        if name != PEER:
            results[f"{PEER} / {name}"] = ratio(seconds[PEER], seconds[name])
    return results


def main() -> None:
    parser = new_parser(__doc__)
    sizes = {"hidden_size": 256, "layers": 4, "heads": 4, "length": 128, "batch": 16, "vocab_size": 8_192, "steps": 8}
    parser.add_argument("--dropout", type=float, nargs="*", default=[0.0, 0.1])
    parser.add_argument("--precision", nargs="*", default=["float32", "bf16 autocast"])
    shape, results = read_shape(parser, sizes)
    for dropout in shape.dropout:
        for precision in shape.precision:
            for padded in (False, True):
                key = f"{precision}, dropout {dropout}{', padded' if padded else ''}"
                note(results, key, measure(shape, dropout, precision != "float32", padded))
    if shape.device == "cpu":
        keep_freed_memory()
        for precision in shape.precision:
            key = f"{precision}, dropout {shape.dropout[0]}, freed memory kept"
            note(results, key, measure(shape, shape.dropout[0], precision != "float32", padded=False))
    write_results("masked_lm_training", results)


if __name__ == "__main__":
    main()
