# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Generation after contexts of growing length: tokens per second and the memory of the state, which both stay flat.

    OMP_NUM_THREADS=1 python -m benchmarks.recurrent_generation [--new_tokens 200]

An LSTM of 2 x 512 with 8 k words reads a context, then generates greedily, by `generate()` and by a bare loop over
`forward`. Beside it transformers' GPT-2 of 4 x 256, whose cache grows with the context (its longest input is set to the
longest context). CPU seconds of one thread.
"""

import time
from pathlib import Path
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from benchmarks.common import new_parser, read_options, write_results
from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM

VOCAB = 8_192
CONTEXTS = (16, 256, 1_024, 4_096)


def resident_mib() -> float:
    """Return the process's memory now, 0 if the system does not give it."""
    status = Path("/proc/self/statm")
    return round(int(status.read_text("utf-8").split()[1]) * 4096 / 2**20, 1) if status.is_file() else 0.0


def cache_bytes(cache: Any) -> int:
    if hasattr(cache, "to_tensors"):
        tensors = [tensor for state in cache.states for tensor in state]
    else:
        tensors = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@torch.no_grad()
def measure(model: Any, context: int, new_tokens: int) -> dict[str, Any]:
    prompt = torch.randint(VOCAB, (1, context), generator=torch.Generator().manual_seed(0))
    begin = time.process_time()
    outputs = model(prompt, use_cache=True, logits_to_keep=1)
    read = time.process_time() - begin
    before, begin = resident_mib(), time.process_time()
    for _ in range(new_tokens):
        word = outputs.logits[:, -1].argmax(-1, keepdim=True)
        outputs = model(word, past_key_values=outputs.past_key_values, use_cache=True)
    loop, after = time.process_time() - begin, resident_mib()
    size = cache_bytes(outputs.past_key_values)
    options = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    begin = time.process_time()
    model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=new_tokens, **options)
    generated = time.process_time() - begin - read
    return {
        "context": context,
        "context tokens read per CPU second": round(context / read),
        "bare loop: tokens per CPU second": round(new_tokens / loop),
        "generate(): tokens per CPU second": round(new_tokens / max(generated, 1e-9)),
        "KiB of state": round(size / 2**10, 1),
        "MiB that the process grew by in the loop": None
        if before is None or after is None
        else round(after - before, 1),
    }


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--new_tokens", type=int, default=200)
    new_tokens = read_options(parser).new_tokens
    torch.set_num_threads(1)
    torch.manual_seed(0)
    gpt2 = GPT2Config(vocab_size=VOCAB, n_embd=256, n_layer=4, n_head=4, n_positions=max(CONTEXTS) + new_tokens)
    models = {
        "LSTM 2 x 512": RecurrentForCausalLM(RecurrentConfig(vocab_size=VOCAB, hidden_size=512)).eval(),
        "GPT-2 4 x 256": GPT2LMHeadModel(gpt2).eval(),
    }
    results: dict[str, Any] = {}
    for name, model in models.items():
        measure(model, 16, 20)
        results[name] = [measure(model, context, new_tokens) for context in CONTEXTS]
        for row in results[name]:
            print(name, row, flush=True)
        for what in ("bare loop", "generate()"):
            speeds = [row[f"{what}: tokens per CPU second"] for row in results[name]]
            results[f"{name}, {what}: speed at the longest context / at the shortest"] = round(
                speeds[-1] / speeds[0], 3
            )
    write_results("recurrent_generation", results)


if __name__ == "__main__":
    main()
