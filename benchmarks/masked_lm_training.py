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

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import BertConfig, BertForMaskedLM

from benchmarks.common import keep_freed_memory, read_options, write_results
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


class Run:
    """One model, its optimizer, and the seconds that its steps took."""

    def __init__(self, name: str, shape: argparse.Namespace, dropout: float, bf16: bool):
        self.name, self.device, self.bf16 = name, shape.device, bf16
        self.model = build(name, shape, dropout)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=shape.device == "cuda")
        self.call: Any = torch.compile(self.model) if "compiled" in name else self.model
        self.keep = {"logits_to_keep": 0} if "all logits" in name else {}
        self.seconds: list[float] = []

    def step(self, batch: dict[str, torch.Tensor]) -> float:
        """Train on one batch; returns the loss."""
        begin = self._now()
        self.optimizer.zero_grad()
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.bf16):
            loss = self.call(**batch, **self.keep).loss
        loss.backward()
        self.optimizer.step()
        self.seconds.append(self._now() - begin)
        return loss.item()

    def _now(self) -> float:
        if self.device == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()


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


def memory_mib(name: str, shape: argparse.Namespace, dropout: float, bf16: bool) -> float:
    """The largest memory during two steps, less what there was before the model."""
    if shape.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        _two_steps(name, shape, dropout, bf16)
        return round((torch.cuda.max_memory_allocated() - before) / 2**20, 1)
    # In a process of its own: what earlier runs freed would hide what this one takes.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_memory_in_child, (name, shape, dropout, bf16))


def _memory_in_child(name: str, shape: argparse.Namespace, dropout: float, bf16: bool) -> float:
    before = _largest_kib()
    _two_steps(name, shape, dropout, bf16)
    return round((_largest_kib() - before) / 2**10, 1)


def _two_steps(name: str, shape: argparse.Namespace, dropout: float, bf16: bool) -> None:
    run = Run(name, shape, dropout, bf16)
    for seed in range(2):
        run.step(batch_of(shape, seed, padded=False))


def _largest_kib() -> int:
    """This process's largest memory so far (Linux); getrusage's would begin with that of its parent."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def measure(shape: argparse.Namespace, dropout: float, bf16: bool, padded: bool) -> dict[str, Any]:
    names = [PEER, *OURS, *([f"{OURS[0]}, compiled", f"{PEER}, compiled"] if shape.device == "cuda" else [])]
    results: dict[str, Any] = {}
    if not padded:
        sizes = {name: memory_mib(name, shape, dropout, bf16) for name in names if "compiled" not in name}
        results = {f"{name}: MiB": size for name, size in sizes.items()}
    torch.manual_seed(0)
    runs = {name: Run(name, shape, dropout, bf16) for name in names}
    warm_up = 1 if shape.device == "cpu" else 5
    for seed in range(warm_up + shape.steps):
        batch = batch_of(shape, seed, padded)
        for run in runs.values():
            run.step(batch)
    seconds = {name: run.seconds[warm_up:] for name, run in runs.items()}
    for name in names:
        results[f"{name}: tokens per second"] = round(shape.batch * shape.length / statistics.median(seconds[name]))
    for name in names:
        if name != PEER:
            ratios = [theirs / ours for theirs, ours in zip(seconds[PEER], seconds[name], strict=True)]
            results[f"{PEER} / {name}"] = round(statistics.median(ratios), 3)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = {"hidden_size": 256, "layers": 4, "heads": 4, "length": 128, "batch": 16, "vocab_size": 8_192, "steps": 8}
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--dropout", type=float, nargs="*", default=[0.0, 0.1])
    parser.add_argument("--precision", nargs="*", default=["float32", "bf16 autocast"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    shape = read_options(parser)
    if shape.device == "cpu":
        torch.set_num_threads(1)
    results: dict[str, Any] = {"shape": {name: getattr(shape, name) for name in (*sizes, "device")}}
    for dropout in shape.dropout:
        for precision in shape.precision:
            for padded in (False, True):
                key = f"{precision}, dropout {dropout}{', padded' if padded else ''}"
                results[key] = measure(shape, dropout, precision != "float32", padded)
                print(key, *(f"  {name}: {value}" for name, value in results[key].items()), sep="\n", flush=True)
    if shape.device == "cpu":
        keep_freed_memory()
        for precision in shape.precision:
            key = f"{precision}, dropout {shape.dropout[0]}, freed memory kept"
            results[key] = measure(shape, shape.dropout[0], precision != "float32", padded=False)
            print(key, *(f"  {name}: {value}" for name, value in results[key].items()), sep="\n", flush=True)
    write_results("masked_lm_training", results)


if __name__ == "__main__":
    main()
