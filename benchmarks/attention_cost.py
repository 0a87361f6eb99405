# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What attention costs by the length of the text: CPU seconds and MiB, in training and in generation (Y:593-607).

    OMP_NUM_THREADS=1 python -m benchmarks.attention_cost [--lengths 256 512 ...]    # multiples of 256
    python -m benchmarks.attention_cost --draw    # the picture, from the record

1. Training: forward and backward pass of one layer of 4 heads of 64 on one text of T random states, float32, one
   thread. The layers are causal, except those "both sides". Seconds are the median of 11 calls, or of 3 where a call
   takes 0.3 s or more. MiB is the largest resident memory (VmHWM) during a call less that before it: weights and inputs
   do not count, their gradients do. The process returns what it frees while memory is measured, and keeps it while time
   is. The slides' T x T memory is that of "dense, eager", which stores all scores of each head, and of "hashing", whose
   causal form is a mask and stores half of them; sdpa computes the scores in blocks and stores none. Transformer-XL's
   layer reads segments of 256 with a memory of 256, each with its own backward pass.
2. Generation: the next token after T tokens, by a model of 2 blocks of 256 and 512 words, read in segments of 256.
   Seconds are the median of 16 tokens, MiB that of the cache's tensors.
3. Slopes: of log seconds and of log MiB by log T from 2,048 tokens on, by least squares (linear 1, quadratic 2). The
   length from which on each is faster than dense attention by sdpa, of both sides for those that attend to both,
   interpolated on the logarithms between two measured lengths.

Peers are transformers' layers with the same window, or hashes, buckets and chunks, and a global token where ours has a
sentinel, followed by the output matrix that they leave to another module. Their seconds over ours: above 1, ours is
faster. A length is left out where a layer would need too much memory, or a call more than 20 s by extrapolation.
"""

import multiprocessing
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache

from benchmarks.attention_cost_picture import Row, column, save_picture
from benchmarks.attention_layers import (
    BOTH,
    DENSE,
    DENSE_BOTH,
    HEADS,
    KINDS,
    LAYERS,
    PEERS,
    SEGMENT,
    SHAPE,
    VOCAB,
    WIDTH,
    efficient_config,
)
from benchmarks.common import (
    ROOT,
    commit,
    is_committed,
    keep_freed_memory,
    markdown_table,
    new_parser,
    read_options,
    read_results,
    return_freed_memory,
    timed,
    write_results,
)
from benchmarks.recurrent_generation import cache_bytes
from benchmarks.scaling import crossing, extrapolated, slope
from benchmarks.training_steps import largest_kib
from hf_lecture_models import (
    EfficientTransformerForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
    TransfoXLConfig,
    TransfoXLLMHeadModel,
)
from hf_lecture_models.layers.growing_cache import use_growing_cache

LENGTHS = (256, 512, 1024, 2048, 4096, 8192, 16384)
WARM_UP, TOKENS = 2, 16
MOST_SECONDS, SLOPE_FROM = 20.0, 2048
# Scores of all pairs need 3 GiB and more at 8,192 tokens, and four times as much at 16,384.
LONGEST = {"dense, eager": 8192}
MODELS = (DENSE, *KINDS, "LSTM", "Transformer-XL")
PICTURE = ROOT / "docs" / "attention_cost.png"
Measure = Callable[[str, int], dict[str, float]]


def measure_layer(name: str, length: int) -> dict[str, float]:
    """Return seconds and MiB of forward and backward pass of a layer on a text."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return_freed_memory()
    layer, step = LAYERS[name](length)
    hidden, gradient = torch.randn(1, length, WIDTH, requires_grad=True), torch.randn(1, length, WIDTH)

    def forget() -> None:
        layer.zero_grad()
        hidden.grad = None

    def call() -> None:
        forget()
        step(hidden, gradient)

    call()  # what torch loads at the first call is not the layer's
    forget()
    Path("/proc/self/clear_refs").write_text("5", "utf-8")  # from here on VmHWM counts (Linux)
    before = largest_kib()
    call()
    mib = (largest_kib() - before) / 2**10
    keep_freed_memory()
    _, first, _ = timed(call)
    seconds = statistics.median(timed(call)[1] for _ in range(11 if first < 0.3 else 3))
    return {"seconds": seconds, "MiB": round(mib, 1)}


def model_of(name: str, length: int) -> Any:
    """Return a language model that reads texts of so many tokens."""
    sizes: dict[str, Any] = {"vocab_size": VOCAB, "hidden_size": WIDTH, "num_hidden_layers": 2}
    if name == DENSE:
        model = SelfAttentionForCausalLM(SelfAttentionConfig(**sizes, num_attention_heads=HEADS))
        model.set_attn_implementation("sdpa")
        return model
    if name == "LSTM":
        return RecurrentForCausalLM(RecurrentConfig(**sizes))
    if name == "Transformer-XL":
        return TransfoXLLMHeadModel(TransfoXLConfig(**sizes, num_attention_heads=HEADS, mem_len=SEGMENT))
    return EfficientTransformerForCausalLM(efficient_config(name, length))


@torch.no_grad()
def measure_generation(name: str, length: int) -> dict[str, float]:
    """Return seconds of a token after a text, and MiB of the cache after the text."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    keep_freed_memory()
    model = model_of(name, length + WARM_UP + TOKENS).eval()
    cache = None
    if name == DENSE:
        cache = DynamicCache(config=model.config)
        use_growing_cache(cache)  # as generate() does
    for part in torch.randint(VOCAB, (1, length)).split(SEGMENT, 1):
        outputs = model(part, past_key_values=cache, use_cache=True, logits_to_keep=1)
        cache = outputs.past_key_values
    mib, seconds = cache_bytes(cache) / 2**20, []
    for _ in range(WARM_UP + TOKENS):
        token = outputs.logits[:, -1].argmax(-1, keepdim=True)
        outputs, spent, _ = timed(partial(model, token, past_key_values=outputs.past_key_values, use_cache=True))
        seconds.append(spent)
    return {"seconds": statistics.median(seconds[WARM_UP:]), "MiB": round(mib, 3)}


def in_new_process(measure: Measure, name: str, length: int) -> dict[str, float]:
    """Return what `measure` returns, from a process that has imported everything and computed nothing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.attention_layers", "benchmarks.recurrent_generation"])
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(measure, name, length).result()


def measure_rows(
    measure: Measure, names: Iterable[str], lengths: Sequence[int], longest: Mapping[str, int]
) -> dict[str, Row]:
    """Return the row of each name, with all lengths that it can be measured at."""
    rows: dict[str, Row] = {name: {} for name in names}
    for name, row in rows.items():
        for length in lengths:
            seconds = extrapolated(column(row, "seconds"), length)
            if length > longest.get(name, length) or seconds > MOST_SECONDS:
                print(f"{name}, from {length} tokens on: left out; about {seconds:.0f} s are expected", flush=True)
                break
            figures = row[str(length)] = in_new_process(measure, name, length)
            print(f"{name}, {length} tokens: {figures['seconds']:.4f} s, {figures['MiB']} MiB", flush=True)
    return rows


def summary(rows: Mapping[str, Row]) -> dict[str, dict[str, Any]]:
    """Return, for each row, the slopes and from which length on it is faster than dense attention by sdpa."""
    compared = {}
    for name, row in rows.items():
        seconds, dense = column(row, "seconds"), rows[DENSE_BOTH if name.endswith(BOTH) else DENSE]
        compared[name] = {
            "slope of seconds": slope(seconds, SLOPE_FROM),
            "slope of MiB": slope(column(row, "MiB"), SLOPE_FROM),
            "faster than dense, sdpa from": crossing(seconds, column(dense, "seconds")),
        }
    return compared


def peer_ratios(rows: Mapping[str, Row]) -> dict[str, dict[str, float]]:
    """Return each peer's seconds over ours, by length."""
    return {
        peer: {
            length: round(figures["seconds"] / rows[ours][length]["seconds"], 2)
            for length, figures in rows[peer].items()
            if length in rows[ours]
        }
        for peer, ours in PEERS.items()
    }


def table(rows: Mapping[str, Row], lengths: Sequence[int]) -> str:
    """Return seconds / MiB of each row by length, and its summary, in Markdown."""
    heads = ["", *(f"{length:,}" for length in lengths), "slopes", "faster than dense, sdpa from"]
    lines = []
    for name, compared in summary(rows).items():
        found = [rows[name].get(str(length)) for length in lengths]
        cells = ["-" if one is None else f"{one['seconds']:.3g} / {one['MiB']:.4g}" for one in found]
        time, memory, first = ("-" if value is None else f"{value:,}" for value in compared.values())
        lines.append([name, *cells, f"{time} / {memory}", first])
    return markdown_table(heads, lines)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, help="multiples of 256, ascending")
    parser.add_argument("--draw", action="store_true", help="draw the picture from the record, without measuring")
    options = read_options(parser)
    if not options.draw:
        parts = {"training": (measure_layer, LAYERS, LONGEST), "generation": (measure_generation, MODELS, {})}
        results: dict[str, Any] = {"shape": SHAPE}
        for part, (measure, names, longest) in parts.items():
            rows = measure_rows(measure, names, options.lengths, longest)
            results[part] = {"rows": rows, "summary": summary(rows)}
            print(f"{part}: seconds / MiB by tokens\n{table(rows, options.lengths)}", flush=True)
        results["peer / ours, seconds"] = peer_ratios(results["training"]["rows"])
        print(f"peer / ours, seconds: {results['peer / ours, seconds']}")
        write_results("attention_cost", results)
    if options.draw or is_committed(commit()):
        save_picture(read_results("attention_cost")["training"]["rows"], PICTURE)


if __name__ == "__main__":
    main()
