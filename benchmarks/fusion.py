# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The cost of shallow fusion: `generate()` with an n-gram's score of each token, beside the same without.

    OMP_NUM_THREADS=1 python -m benchmarks.fusion [--order 5]

The n-gram is of WikiText-2, 33 k words; the networks over the same words are untrained, for their speed does not depend
on what they learnt. Greedy, 64 tokens after 16, batches of 1 and 8, and beams; CPU seconds, the least of three.
"""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from benchmarks.common import new_parser, read_options, timed, wikitext, write_results
from hf_lecture_models import (
    NGramForCausalLM,
    NGramLogitsProcessor,
    RecurrentConfig,
    RecurrentForCausalLM,
    WordTokenizer,
)

SETTINGS = [{"batch": 1, "num_beams": 1}, {"batch": 8, "num_beams": 1}, {"batch": 1, "num_beams": 5}]


def networks(tokenizer) -> dict:
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    size = {"vocab_size": len(tokenizer), **ids}
    return {
        "LSTM, 2 x 200": RecurrentForCausalLM(RecurrentConfig(hidden_size=200, num_hidden_layers=2, **size)),
        "transformers' gpt2, 4 x 256": GPT2LMHeadModel(GPT2Config(n_embd=256, n_layer=4, n_head=4, **size)),
    }


def seconds(model, prompt, beams: int, processors: list) -> float:
    options = {"max_new_tokens": 64, "min_new_tokens": 64, "do_sample": False, "num_beams": beams}
    return timed(lambda: model.generate(**prompt, logits_processor=processors, **options), repeats=3)[1]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--order", type=int, default=5)
    order = read_options(parser).order
    texts = wikitext("train")
    tokenizer = WordTokenizer.train(texts, progress=False)
    ngram = NGramForCausalLM.fit(texts, tokenizer, order=order, progress=False)
    processor = NGramLogitsProcessor(ngram, tokenizer, weight=0.3)
    torch.manual_seed(0)
    rows = []
    for name, model in networks(tokenizer).items():
        for setting in SETTINGS:
            ids = torch.randint(1, len(tokenizer) - 3, (setting["batch"], 16))
            prompt = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
            alone, fused = (seconds(model.eval(), prompt, setting["num_beams"], p) for p in ([], [processor]))
            rows.append({"model": name, **setting, "alone_cpu_s": alone, "fused_cpu_s": fused, "ratio": fused / alone})
            print(f"{name:<30}{setting}  {alone:.2f} s, fused {fused:.2f} s: {fused / alone:.2f}", flush=True)
    write_results("fusion", {"order": order, "vocab_size": len(tokenizer), "new_tokens": 64, "rows": rows})


if __name__ == "__main__":
    main()
