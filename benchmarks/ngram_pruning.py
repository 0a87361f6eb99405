# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A 3-gram of WikiText-2, pruned by relative entropy: n-grams that stay against test perplexity, and the seconds.

    OMP_NUM_THREADS=1 python -m benchmarks.ngram_pruning [--order 3] [--thresholds 1e-8 1e-7 1e-6]

The model is smoothed by modified Kneser-Ney. P(h) is its own, or that of a model of absolute discounting, which leaves
as many n-grams.
"""

import math
import warnings
from typing import Any

import torch

from benchmarks.common import new_parser, read_options, timed, wikitext, write_results
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.counting_ngram import make_stream
from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.tokenization.splitting import SplitTexts


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--thresholds", type=float, nargs="+", default=[1e-8, 1e-7, 1e-6])
    options = read_options(parser)
    warnings.filterwarnings("ignore", "the model was smoothed")  # it is what is measured
    train = SplitTexts(wikitext("train"))
    tokenizer = WordTokenizer.train(train, progress=False)
    model = NGramForCausalLM.fit(train, tokenizer, order=options.order, progress=False)
    history = NGramForCausalLM.fit(train, tokenizer, options.order - 1, "absolute_discounting", progress=False)
    corpus = encode_corpus(tokenizer, wikitext("test"))
    stream = torch.from_numpy(make_stream(corpus.ids, corpus.lengths, model.config).words)[None]
    tokens = len(corpus.ids) + len(corpus.lengths)

    def row(name: str, one: Any, **more: float) -> dict[str, Any]:
        log_prob = one.score(stream).double().sum().item()
        found = {"ngrams": sum(one.config.ngram_counts), "perplexity": math.exp(-log_prob / tokens)}
        print(f"{name:<24} {found['ngrams']:>10,} n-grams   perplexity {found['perplexity']:.2f}")
        return {"P(h)": name, **found, "log10": log_prob / math.log(10), **more}

    rows = [row("none", model, threshold=0.0)]
    for threshold in options.thresholds:
        smaller, seconds, _ = timed(lambda value=threshold: model.prune(value, progress=False))
        rows.append(row("the model", smaller, threshold=threshold, cpu_s=seconds))
        ngrams = rows[-1]["ngrams"]
        other = model.prune(ngrams=ngrams, history=history, progress=False)
        rows.append(row("absolute discounting", other, threshold=threshold))
    write_results("ngram_pruning", {"order": options.order, "tokens": tokens, "rows": rows})


if __name__ == "__main__":
    main()
