# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Training and beam search of the Transformer beside transformers' MarianMT, of equal shape and with equal weights.

    OMP_NUM_THREADS=1 python -m benchmarks.translation_throughput [--steps 8] [--repeats 5] [--sizes small ...]

Both models begin with the same weights and work in turns. A training step is forward, backward and AdamW, with dropout
0.1; sources are padded as in training. "smoothed": with label smoothing of 0.1, as Vaswani et al. train, by our loss
for our model and by torch's `cross_entropy` for theirs. Beam search writes so many tokens with 5 beams; that both
models write the same is checked in float32, for with weights in bf16 the last bits may decide. Figures: tokens of the
target per second, and the median over steps or repeats of MarianMT's seconds over ours: above 1, ours is faster. CPU
seconds of one thread, on a GPU wall seconds. The small size is that of the recipe transformer_multi30k.
"""

import argparse
import statistics
import tempfile
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import MarianConfig, MarianMTModel

from benchmarks.common import new_parser, write_results
from benchmarks.training_steps import clock, ratio, read_shape
from hf_lecture_models import LectureTransformerForConditionalGeneration
from hf_lecture_models.tasks.language_models.label_smoothing import smoothed_loss

PEER, OURS = "transformers", "ours"
SIZES = {
    "small": {"d_model": 256, "layers": 3, "heads": 4, "ffn_dim": 896, "vocab_size": 8_000},
    "large": {"d_model": 512, "layers": 6, "heads": 8, "ffn_dim": 2048, "vocab_size": 8_000},
}
SMOOTHING, BEAMS, PAD, END = 0.1, 5, 0, 1


def build(size: str, device: str) -> dict[str, Any]:
    """Both models, with the same random weights."""
    shape = SIZES[size]
    sides: dict[str, Any] = {}
    for side in ("encoder", "decoder"):
        sides |= {f"{side}_layers": shape["layers"], f"{side}_attention_heads": shape["heads"]}
        sides |= {f"{side}_ffn_dim": shape["ffn_dim"]}
    config = MarianConfig(
        d_model=shape["d_model"],
        vocab_size=shape["vocab_size"],
        max_position_embeddings=512,
        activation_function="relu",
        scale_embedding=True,
        dropout=0.1,
        pad_token_id=PAD,
        eos_token_id=END,
        forced_eos_token_id=END,
        decoder_start_token_id=PAD,
        **sides,
    )
    torch.manual_seed(0)
    peer = MarianMTModel(config)
    with tempfile.TemporaryDirectory() as folder:
        peer.save_pretrained(folder)
        ours = LectureTransformerForConditionalGeneration.from_pretrained(folder)
    return {name: model.to(device) for name, model in ((PEER, peer), (OURS, ours))}


def batch_of(options: argparse.Namespace, vocab_size: int, seed: int) -> dict[str, Tensor]:
    """Random pairs as `BatchesByTokens` makes them: targets of one length, sources of about 8 % padding."""
    generator = torch.Generator().manual_seed(seed)
    rows, longest = options.batch_tokens // options.length, options.length
    sources, targets = torch.randint(2, vocab_size, (2, rows, longest), generator=generator)
    lengths = torch.randint(round(0.84 * longest), longest + 1, (rows, 1), generator=generator)
    lengths[0] = longest
    real = torch.arange(longest) < lengths
    batch = {"input_ids": sources.where(real, PAD), "attention_mask": real.long(), "labels": targets}
    return {name: tensor.to(options.device) for name, tensor in batch.items()}


def plain_smoothed_loss(outputs: Any, labels: Tensor, label_smoothing: float) -> Tensor:
    """Return the smoothed loss as a loop around MarianMT computes it."""
    logits = outputs.logits.flatten(0, 1).float()
    return F.cross_entropy(logits, labels.flatten(), label_smoothing=label_smoothing)


def training_step(model: Any, optimizer: Any, batch: dict[str, Tensor], smoothed: bool, bf16: bool) -> float:
    """Train on one batch, and return its seconds."""
    device, inputs = model.device.type, dict(batch)
    begin = clock(device)
    optimizer.zero_grad()
    # As the task of translation calls it, which needs no logits beside the loss.
    ours = getattr(model, "loss_without_logits", False)
    with torch.autocast(device, dtype=torch.bfloat16, enabled=bf16):
        if smoothed:
            labels = inputs.pop("labels")
            inputs["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(labels)
            loss = (smoothed_loss if ours else plain_smoothed_loss)(model(**inputs, use_cache=False), labels, SMOOTHING)
        else:
            loss = model(**inputs, use_cache=False, **({"logits_to_keep": 1} if ours else {})).loss
    loss.backward()
    optimizer.step()
    return clock(device) - begin


def measure_training(size: str, smoothed: bool, bf16: bool, options: argparse.Namespace) -> dict[str, float]:
    """Tokens per second of each, and the ratio."""
    models = build(size, options.device)
    optimizers = {
        name: torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=True) for name, model in models.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for seed in range(1 + options.steps):
        batch = batch_of(options, SIZES[size]["vocab_size"], seed)
        for name, model in models.items():
            seconds[name].append(training_step(model, optimizers[name], batch, smoothed, bf16))
    return figures({name: taken[1:] for name, taken in seconds.items()}, batch["labels"].numel())


def measure_beams(size: str, rows: int, options: argparse.Namespace, bf16: bool = False) -> dict[str, float]:
    """Tokens per second of each, and the ratio; with `bf16` the weights of both are rounded.

    Raises:
        AssertionError: in float32, they do not write the same.
    """
    dtype = torch.bfloat16 if bf16 else torch.float32
    models = {name: model.eval().to(dtype) for name, model in build(size, options.device).items()}
    batch = batch_of(options, SIZES[size]["vocab_size"], seed=0)
    inputs = {name: batch[name][:rows] for name in ("input_ids", "attention_mask")}
    new = {"num_beams": BEAMS, "min_new_tokens": options.new_tokens, "max_new_tokens": options.new_tokens}
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(1 + options.repeats):
        written = {}
        for name, model in models.items():
            begin = clock(options.device)
            written[name] = model.generate(**inputs, **new)
            seconds[name].append(clock(options.device) - begin)
        assert bf16 or written[PEER].equal(written[OURS]), "the two models write different translations"
    return figures({name: taken[1:] for name, taken in seconds.items()}, rows * options.new_tokens)


def figures(seconds: dict[str, list[float]], tokens: float) -> dict[str, float]:
    """Tokens per second of each, and the median ratio of the peer's seconds to ours."""
    found: dict[str, float] = {
        f"{name}: tokens per second": round(tokens / statistics.median(taken)) for name, taken in seconds.items()
    }
    return found | {f"{PEER} / {OURS}": ratio(seconds[PEER], seconds[OURS])}


def main() -> None:
    parser = new_parser(__doc__)
    sizes = {"batch_tokens": 2048, "length": 16, "new_tokens": 16, "steps": 8, "repeats": 5}
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 16], help="sources at once in beam search")
    options, results = read_shape(parser, sizes)
    results["sizes"] = SIZES
    for size in options.sizes:
        for precision in ("float32", "bf16 autocast"):
            for smoothed in (False, True):
                key = f"training, {size}, {precision}{', smoothed' if smoothed else ''}"
                results[key] = measure_training(size, smoothed, precision != "float32", options)
                print(key, results[key], flush=True)
        for rows in options.batches:
            for bf16 in (False, True):
                key = f"beam search, {size}, batch of {rows}{', bf16 weights' if bf16 else ''}"
                results[key] = measure_beams(size, rows, options, bf16)
                print(key, results[key], flush=True)
    write_results("translation_throughput", results)


if __name__ == "__main__":
    main()
