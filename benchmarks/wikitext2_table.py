# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One table of the language models on WikiText-2, from the results that the other scripts wrote.

    python -m benchmarks.wikitext2_table            # prints it, and writes docs/wikitext2.png

It measures nothing. Bits per byte compare models of any tokenizer; so do word perplexities, which divide by the same
words. All models count one `</s>` per line. The networks read the lines as one stream; an n-gram's counts end with each
line, so for it the stream is the same as each line alone.
"""

import math
from typing import Any

from benchmarks.common import ROOT, markdown_table, read_results
from hf_lecture_models.lab.studies.comparison_chart import save_comparison

COLUMNS = ["model", "tokens of training", "CPU minutes", "test word perplexity", "test bits per byte"]
COLUMNS += ["validation, the last two points"]
NGRAMS = {"trigram, modified Kneser-Ney": 3, "5-gram, modified Kneser-Ney": 5}
NETWORKS = {
    "feed-forward, order 5": "feed_forward_wikitext2",
    "LSTM, 2 x 200": "recurrent_wikitext2",
    "self-attention, words": "self_attention_wikitext2",
    "self-attention, BPE 8 k": "self_attention_bpe_wikitext2",
    "GPT-1's blocks (post-LN), BPE 8 k": "gpt1_wikitext2",
}


def ngram_results(order: int) -> dict[str, Any]:
    """Return the measures of modified Kneser-Ney at this order."""
    rows = read_results("ngram_wikitext2")["rows"]
    return next(row for row in rows if (row["order"], row["smoothing"]) == (order, "modified_kneser_ney"))


def ngram_row(title: str, order: int) -> list[str]:
    """Return the row of an n-gram, whose fitting reads every token once."""
    row = ngram_results(order)
    perplexity, bits = row["test_word_perplexity"], row["test_bits_per_byte"]
    return [title, "1 epoch", f"{row['fit_cpu_s'] / 60:.2f}", f"{perplexity:.1f}", f"{bits:.4f}", ""]


def network_row(title: str, name: str) -> list[str]:
    """Return the row of a network; the last two points of its validation curve show whether it still falls."""
    results = read_results(name)
    training, curve = results["training"], results["validation_curve"]
    last = [point.get("validation_word_perplexity", point["validation_perplexity"]) for point in curve[-2:]]
    return [
        title,
        f"{training['items'] / 1e6:.1f} M ({curve[-1]['epoch']:.1f} epochs)",
        f"{training['step_cpu_seconds'] / 60:.0f}",
        f"{results['test']['word_perplexity']:.1f}",
        f"{results['test']['bits_per_byte']:.4f}",
        ", ".join(f"{perplexity:.1f}" for perplexity in last),
    ]


def drawn(title: str, name: str) -> dict[str, Any]:
    """Return a network's points in the picture, taking all steps for equally long."""
    results = read_results(name)
    training, valid = results["training"], results["valid"]
    seconds = training.get("step_cpu_seconds", training["step_seconds"])
    curve = [
        (
            seconds * point["step"] / training["step"],
            math.log2(point["validation_perplexity"]) * valid["tokens"] / valid["bytes"],
        )
        for point in results["validation_curve"]
    ]
    return {"title": title, "seconds": seconds, "bits_per_byte": results["test"]["bits_per_byte"], "curve": curve}


def drawn_ngram(title: str, order: int) -> dict[str, Any]:
    """Return an n-gram's point in the picture."""
    row = ngram_results(order)
    return {"title": title, "seconds": row["fit_cpu_s"], "bits_per_byte": row["test_bits_per_byte"], "curve": []}


def make_rows() -> list[list[str]]:
    """Return the cells of the table, without the column names."""
    return [ngram_row(*item) for item in NGRAMS.items()] + [network_row(*item) for item in NETWORKS.items()]


def main() -> None:
    print(markdown_table(COLUMNS, make_rows()))
    models = [drawn_ngram(*item) for item in NGRAMS.items()] + [drawn(*item) for item in NETWORKS.items()]
    save_comparison(models, ROOT / "docs" / "wikitext2.png", title="WikiText-2, one CPU thread")


if __name__ == "__main__":
    main()
