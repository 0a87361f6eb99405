# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Transformer-XL: what its memory is worth, what it costs, and a training step, beside plain self-attention.

    OMP_NUM_THREADS=1 python -m benchmarks.transformer_xl FOLDER [--steps 16]    # as train_causal_lm.py leaves it

1. The trained model reads WikiText-2's test text as one stream in segments of equal length, with memories of several
   sizes: perplexity, and CPU seconds for 1,000 tokens.
2. The comparison of Dai et al. 2019, whose abstract says "up to 1,800+ times faster": the same model without a memory
   reads a window again for each token, as long as segment and memory together. So each token has the context that the
   last one of a segment has.
3. A training step with a memory, with an empty one, and of `self_attention` of the same shape with a plain softmax on
   rows of the same length, in turns: CPU seconds of the other over Transformer-XL's.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.common import check_trained_on_committed_code, new_parser, read_options, timed, wikitext, write_results
from hf_lecture_models import (
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
    TransfoXLConfig,
    TransfoXLLMHeadModel,
    evaluate_language_model,
)
from hf_lecture_models.evaluation.scoring import encode_stream

MEMORIES = (0, 16, 64, 256)
WINDOWED, ROWS = 1000, 8
SHAPE = {"vocab_size": 8_192, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "dropout": 0.0}
BATCH, SEQ = 8, 128


def perplexities(model: Any, tokenizer: Any, texts: list[str]) -> dict[str, dict[str, float]]:
    """Memory -> perplexity of the stream, and CPU seconds of 1,000 tokens."""
    measured = {}
    for memory in MEMORIES:
        model.config.mem_len = memory
        figures, seconds, _ = timed(lambda: evaluate_language_model(model, tokenizer, texts, stream=True))
        each = {"perplexity": figures["perplexity"], "cpu_seconds_per_1000": 1000 * seconds / figures["tokens"]}
        measured[str(memory)] = each
        print(f"memory {memory}: {each}", flush=True)
    return measured


@torch.no_grad()
def sliding_window(model: Any, stream: np.ndarray, window: int) -> dict[str, float]:
    """Read a window again for each token, without a memory: perplexity and CPU seconds of 1,000 tokens."""
    model.config.mem_len = 0
    rows = torch.from_numpy(np.lib.stride_tricks.sliding_window_view(stream[: window + WINDOWED], window + 1).copy())
    begin, found = time.process_time(), []
    for part in rows.long().split(ROWS):
        logits = model(part[:, :-1], use_cache=False, logits_to_keep=1).logits[:, -1]
        found.append(logits.gather(1, part[:, -1:])[:, 0])
    seconds, predicted = time.process_time() - begin, rows[:, -1] != model.config.bos_token_id
    perplexity = torch.cat(found)[predicted].mean().neg().exp()
    return {"perplexity": float(perplexity), "cpu_seconds_per_1000": 1000 * seconds / len(rows)}


@torch.no_grad()
def segments(model: Any, stream: np.ndarray, memory: int, skip: int) -> float:
    """Perplexity of the tokens that `sliding_window` predicts, read in segments after a memory."""
    model.config.mem_len, cache, found = memory, None, []
    ids = torch.from_numpy(stream[: skip + WINDOWED].astype(np.int64))[None]
    for part in range(0, ids.shape[1] - 1, model.config.segment_length):
        targets = ids[:, part + 1 : part + 1 + model.config.segment_length]
        outputs = model(ids[:, part : part + targets.shape[1]], past_key_values=cache, use_cache=True)
        cache = outputs.past_key_values
        found.append(outputs.logits.gather(2, targets[..., None])[0, :, 0])
    predicted = ids[0, skip:] != model.config.bos_token_id
    return float(torch.cat(found)[skip - 1 :][predicted].mean().neg().exp())


def training_steps(steps: int, bf16: bool) -> dict[str, float]:
    """Other's CPU seconds over Transformer-XL's, whose memory is as long as a segment and full; the median."""
    torch.manual_seed(0)
    models: dict[str, Any] = {
        "memory": TransfoXLLMHeadModel(TransfoXLConfig(**SHAPE, mem_len=SEQ)),
        "no memory": TransfoXLLMHeadModel(TransfoXLConfig(**SHAPE, mem_len=0)),
        "self_attention": SelfAttentionForCausalLM(SelfAttentionConfig(**SHAPE, position_encoding="relative")),
    }
    optimizers = {name: torch.optim.AdamW(model.train().parameters(), lr=1e-4) for name, model in models.items()}
    seconds: dict[str, list[float]] = {name: [] for name in models}
    cache = None
    for _ in range(steps):
        ids = torch.randint(SHAPE["vocab_size"], (BATCH, SEQ + 1))
        for name, model in models.items():
            begin = time.process_time()
            options = {"past_key_values": cache, "use_cache": True} if name == "memory" else {"use_cache": False}
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
                outputs = model(ids[:, :-1], shift_labels=ids[:, 1:], logits_to_keep=1, **options)
            outputs.loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizers[name].step()
            optimizers[name].zero_grad()
            seconds[name].append(time.process_time() - begin)
            cache = outputs.past_key_values.detach() if name == "memory" else cache
    measured = {name: np.array(times[2:]) for name, times in seconds.items()}
    return {
        f"self_attention / {name}": round(float(np.median(measured["self_attention"] / measured[name])), 3)
        for name in ("memory", "no memory")
    }


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=16)
    arguments = read_options(parser)
    if not arguments.dirty:
        check_trained_on_committed_code(arguments.folder)
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(arguments.folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(arguments.folder)
    texts = wikitext("test")
    _, stream, _ = encode_stream(tokenizer, texts)
    results: dict[str, Any] = {"segment": model.config.segment_length, "trained_memory": model.config.mem_len}
    results["perplexity"] = perplexities(model, tokenizer, texts)
    window = results["segment"] + MEMORIES[-1]
    results["sliding_window"] = {"window": window, "tokens": WINDOWED, **sliding_window(model, stream, window)}
    results["sliding_window"]["segments_perplexity"] = segments(model, stream, MEMORIES[-1], window)
    times = results["sliding_window"]["cpu_seconds_per_1000"]
    results["sliding_window"]["times_slower"] = times / results["perplexity"][str(MEMORIES[-1])]["cpu_seconds_per_1000"]
    print(results["sliding_window"], flush=True)
    for precision in ("float32", "bf16 autocast"):
        results[precision] = training_steps(arguments.steps, precision != "float32")
        print(precision, results[precision], flush=True)
    write_results("transformer_xl", results)


if __name__ == "__main__":
    main()
