# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The lectures' sentence pairs, ranked: "A better than B iff P(A) >= P(B)" (slides R:180-190, Y:10-51).

English by a model of WikiText-2, French by one of Multi30k's French captions. Prints ln P of each terminated sentence,
the unknown words in it, and whether the model agrees with the slide.

    python -m benchmarks.sentence_pairs [--model FOLDER]      # FOLDER: any causal LM in place of the English 5-gram
"""

from __future__ import annotations

import argparse

from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

from benchmarks.common import data_folder, write_results
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.tokenization.corpus import read_texts

# The better sentence first, as the slide has it. WikiText-2 is lower- and upper-case, tokenised, with <unk>.
ENGLISH = [
    ("The parcel was secured by grey tape .", "The parcel was secured by great ape ."),
    ("he was a lighthouse keeper", "he was a light housekeeper"),
    ("I do not like to teach early in the morning", "I do not like teaching early in the morning"),
]
FRENCH = [
    ("les enfants ont dansé sur la plage", "les enfants ont dansés sur la plage"),
    ("les enfants ont dansé sur la plage", "les enfants ont dansée sur la plage"),
]


def fit(path: str) -> tuple[NGramForCausalLM, WordTokenizer]:
    """A 5-gram with modified Kneser-Ney smoothing on a file, one text a line."""
    tokenizer = WordTokenizer.train(read_texts(path))
    return NGramForCausalLM.fit(path, tokenizer, order=5), tokenizer


def rank(model, tokenizer, pairs: list[tuple[str, str]]) -> list[dict]:
    """One row a pair: both log-probabilities, the words the model does not know, and whether it agrees."""
    ranker = pipeline("sentence-ranking", model=model, tokenizer=tokenizer)
    rows = []
    for better, worse in pairs:
        log_probs = {entry["sequence"]: entry["log_prob"] for entry in ranker([better, worse])}
        words = set((better + " " + worse).split())
        unknown = [word for word in words if tokenizer.unk_token_id in tokenizer(word).input_ids]
        rows.append(
            {
                "better": better,
                "worse": worse,
                "log_prob_better": log_probs[better],
                "log_prob_worse": log_probs[worse],
                "agrees": log_probs[better] > log_probs[worse],
                "unknown": sorted(unknown),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a causal LM's folder, in place of the English 5-gram")
    arguments = parser.parse_args()
    if arguments.model:
        english = AutoModelForCausalLM.from_pretrained(arguments.model), AutoTokenizer.from_pretrained(arguments.model)
    else:
        english = fit(data_folder() / "wikitext-2" / "train.txt")
    rows = rank(*english, ENGLISH) + rank(*fit(data_folder() / "multi30k" / "train.fr.txt"), FRENCH)
    for row in rows:
        sign = ">" if row["agrees"] else "=" if row["log_prob_better"] == row["log_prob_worse"] else "<"
        print(f"{row['log_prob_better']:8.2f} {sign} {row['log_prob_worse']:8.2f}   {row['better']} | {row['worse']}")
        if row["unknown"]:
            print(f"{'':22}unknown: {', '.join(row['unknown'])}")
    write_results("sentence_pairs", {"model": arguments.model or "5-gram, modified Kneser-Ney", "pairs": rows})


if __name__ == "__main__":
    main()
