# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Training steps of GPT-1 and of the self-attention model beside transformers' openai-gpt and gpt2 of equal shape.

    OMP_NUM_THREADS=1 python -m benchmarks.attention_training [--steps 8] [--hidden_size 256 ...]
    python -m benchmarks.attention_training --hidden_size 768 --layers 12 --heads 12 --length 512 --batch 64 \
        --vocab_size 40478 --steps 30                           # GPT-1's own shape, on a GPU

All read the same tokens in turns: forward, backward, AdamW. Ours runs as the trainer runs it (`logits_to_keep=1`: the
loss in pieces) and, "all logits", as a plain call does. A ratio is the median over steps of the peer's seconds over
ours: above 1, ours is faster. Seconds are CPU seconds of one thread, on a GPU wall seconds. On a GPU there is also ours
after `torch.compile`, and model FLOPs utilisation.

FLOPs per token, forward and backward: 6 per weight in a matrix product (with the output layer, without the table of
word vectors) and 12 · layers · hidden · length for all scores and their use, masked ones included.
Memory is what two steps add to the process (on a GPU, to what is allocated), each model in a process of its own.
"freed memory kept": once more in a process that keeps the memory which it frees.
"""

import argparse
import statistics
from typing import Any

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, OpenAIGPTConfig, OpenAIGPTLMHeadModel

from benchmarks.common import keep_freed_memory, new_parser, write_results
from benchmarks.training_steps import Run, added_mib, note, ratio, read_shape, take_turns, warm_up_of
from hf_lecture_models import Gpt1Config, Gpt1ForCausalLM, SelfAttentionConfig, SelfAttentionForCausalLM

PEERS = ("openai-gpt", "gpt2")
OURS = ("gpt1", "gpt1, all logits", "self_attention", "self_attention, all logits")
# Dense matrix products per second that the makers state: bf16, and float32 without TF32.
PEAK_TFLOPS = {"H100": (989, 67), "H200": (989, 67), "A100": (312, 19.5), "L4": (121, 30), "T4": (65, 8.1)}


def build(name: str, shape: argparse.Namespace, dropout: float) -> nn.Module:
    """Return a model in training mode; the self-attention model is GPT-2's: pre-LN, learned positions.

    It has no dropout of attention weights; the others have.
    """
    ours = {
        "vocab_size": shape.vocab_size,
        "hidden_size": shape.hidden_size,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "max_position_embeddings": shape.length,
    }
    theirs: dict[str, Any] = {
        "vocab_size": shape.vocab_size,
        "n_embd": shape.hidden_size,
        "n_layer": shape.layers,
        "n_head": shape.heads,
        "n_positions": shape.length,
    }
    pdrop = {f"{where}_pdrop": dropout for where in ("resid", "embd", "attn")}
    model: nn.Module
    if name == "openai-gpt":
        model = OpenAIGPTLMHeadModel(OpenAIGPTConfig(**theirs, **pdrop))
    elif name == "gpt2":
        model = GPT2LMHeadModel(GPT2Config(**theirs, **pdrop, bos_token_id=0, eos_token_id=0))
    elif name.startswith("gpt1"):
        model = Gpt1ForCausalLM(Gpt1Config(**ours, **pdrop))
    else:
        config = SelfAttentionConfig(**ours, position_encoding="learned", norm_position="pre", dropout=dropout)
        model = SelfAttentionForCausalLM(config)
    return model.train().to(shape.device)


def make_run(name: str, shape: argparse.Namespace, dropout: float, bf16: bool) -> Run:
    options = {"logits_to_keep": 1} if name.split(",")[0] in OURS and "all logits" not in name else {}
    return Run(build(name, shape, dropout), bf16, compiled="compiled" in name, use_cache=False, **options)


def tokens(shape: argparse.Namespace, seed: int) -> dict[str, torch.Tensor]:
    """Return random token ids, (batch, length), and the same as labels."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(shape.vocab_size, (shape.batch, shape.length), generator=generator).to(shape.device)
    return {"input_ids": ids, "labels": ids}


def two_steps(name: str, shape: argparse.Namespace, dropout: float, bf16: bool) -> None:
    run = make_run(name, shape, dropout, bf16)
    for seed in range(2):
        run.step(tokens(shape, seed))


def flops_per_token(model: nn.Module, shape: argparse.Namespace) -> float:
    looked_up = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    weights = sum(p.numel() for p in model.parameters() if p.dim() == 2 and id(p) not in looked_up)
    weights += shape.vocab_size * shape.hidden_size
    return 6 * weights + 12 * shape.layers * shape.hidden_size * shape.length


def peak_flops(device: str, bf16: bool) -> float | None:
    name = torch.cuda.get_device_name() if device == "cuda" else ""
    known = next((pair for key, pair in PEAK_TFLOPS.items() if key in name), None)
    return None if known is None else known[0 if bf16 else 1] * 1e12


def measure(shape: argparse.Namespace, dropout: float, bf16: bool) -> dict[str, Any]:
    names = [*PEERS, *OURS]
    if shape.device == "cuda":
        names += [f"{name}, compiled" for name in ("gpt1", "self_attention", "gpt2")]
    results: dict[str, Any] = {
        f"{name}: MiB": added_mib(shape.device, two_steps, name, shape, dropout, bf16)
        for name in names
        if "compiled" not in name
    }
    torch.manual_seed(0)
    runs = {name: make_run(name, shape, dropout, bf16) for name in names}
    batches = (tokens(shape, seed) for seed in range(warm_up_of(shape.device) + shape.steps))
    seconds = take_turns(runs, batches)
    for name, run in runs.items():
        speed = shape.batch * shape.length / statistics.median(seconds[name])
        results[f"{name}: tokens per second"] = round(speed)
        peak, achieved = peak_flops(shape.device, bf16), speed * flops_per_token(run.model, shape)
        results[f"{name}: GFLOP/s"] = round(achieved / 1e9, 1)
        if peak is not None:
            results[f"{name}: model FLOPs utilisation"] = round(achieved / peak, 3)
    for peer in PEERS:
        for name in names[len(PEERS) :]:
            results[f"{peer} / {name}"] = ratio(seconds[peer], seconds[name])
    return results


def main() -> None:
    parser = new_parser(__doc__)
    sizes = {"hidden_size": 256, "layers": 4, "heads": 4, "length": 128, "batch": 16, "vocab_size": 8_192, "steps": 8}
    parser.add_argument("--dropout", type=float, nargs="*", default=[0.0, 0.1])
    parser.add_argument("--precision", nargs="*", default=["float32", "bf16 autocast"])
    shape, results = read_shape(parser, sizes)
    for dropout in shape.dropout:
        for precision in shape.precision:
            key = f"{precision}, dropout {dropout}"
            note(results, key, measure(shape, dropout, precision != "float32"))
    if shape.device == "cpu":
        keep_freed_memory()
        for precision in shape.precision:
            key = f"{precision}, dropout {shape.dropout[0]}, freed memory kept"
            note(results, key, measure(shape, shape.dropout[0], precision != "float32"))
    write_results("attention_training", results)


if __name__ == "__main__":
    main()
