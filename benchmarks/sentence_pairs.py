# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The lectures' sentence pairs, ranked: "A better than B iff P(A) >= P(B)" (slides R:180-190, Y:21-51).

English by models of WikiText-2, French by models of Multi30k's French captions; each by a 5-gram over words, whose
world is closed (an unknown word is `<unk>`), and by a 6-gram over characters, whose world is open (slide Y:320-323).
Prints ln P of each terminated sentence, the unknown words in it, and whether the model agrees with the slide; then how
often the phrases that decide occur in the training text, as whole words.

    python -m benchmarks.sentence_pairs [--model FOLDER]      # FOLDER: any causal LM in place of the English 5-gram
"""

from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

from benchmarks.common import data_folder, new_parser, read_options, wikitext, write_results
from hf_lecture_models import CharTokenizer, NGramForCausalLM, WordTokenizer
from hf_lecture_models.evaluation.surprisal import SENTENCE_PAIRS
from hf_lecture_models.tokenization.corpus import read_texts

ENGLISH, FRENCH = SENTENCE_PAIRS["English"], SENTENCE_PAIRS["French"]
PHRASES = ("grey tape", "great ape", "by grey", "by great", "lighthouse keeper", "a lighthouse", "a light")
CAPTIONS = 5_000


def fit_words(texts: list[str]) -> tuple[NGramForCausalLM, WordTokenizer]:
    """A 5-gram over words with modified Kneser-Ney smoothing."""
    tokenizer = WordTokenizer.train(texts)
    return NGramForCausalLM.fit(texts, tokenizer, order=5), tokenizer


def fit_characters(texts: list[str]) -> tuple[NGramForCausalLM, CharTokenizer]:
    """A 6-gram over characters with modified Kneser-Ney smoothing; blank lines and blanks at the edges left out."""
    texts = [text.strip() for text in texts if text.strip()]
    tokenizer = CharTokenizer.train(texts)
    return NGramForCausalLM.fit(texts, tokenizer, order=6), tokenizer


def rank(title: str, model, tokenizer, pairs: list[tuple[str, str]]) -> list[dict]:
    """One row a pair: both log-probabilities, the words the model does not know, and whether it agrees."""
    ranker = pipeline("sentence-ranking", model=model, tokenizer=tokenizer)
    rows = []
    for better, worse in pairs:
        log_probs = {entry["sequence"]: entry["log_prob"] for entry in ranker([better, worse])}
        words = set((better + " " + worse).split())
        unknown = [word for word in words if tokenizer.unk_token_id in tokenizer(word).input_ids]
        rows.append(
            {
                "model": title,
                "better": better,
                "worse": worse,
                "log_prob_better": log_probs[better],
                "log_prob_worse": log_probs[worse],
                "agrees": log_probs[better] > log_probs[worse],
                "unknown": sorted(unknown),
            }
        )
    return rows


def occurrences(texts: list[str], phrase: str) -> int:
    """How often the phrase occurs as whole words: "by great" is not in "by greatly"."""
    return sum(f" {' '.join(text.split())} ".count(f" {phrase} ") for text in texts)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--model", help="a causal LM's folder, in place of the English 5-gram")
    arguments = read_options(parser)
    texts = wikitext("train")
    captions = list(read_texts(data_folder() / "multi30k" / "train.fr.txt"))
    if arguments.model:
        english = AutoModelForCausalLM.from_pretrained(arguments.model), AutoTokenizer.from_pretrained(arguments.model)
    else:
        english = fit_words(texts)
    rows = [
        *rank(arguments.model or "words of WikiText-2, 5-gram", *english, ENGLISH),
        *rank("characters of WikiText-2, 6-gram", *fit_characters(texts), ENGLISH),
        *rank("words of all captions, 5-gram", *fit_words(captions), FRENCH),
        *rank(f"characters of {CAPTIONS:,} captions, 6-gram", *fit_characters(captions[:CAPTIONS]), FRENCH),
        *rank(f"characters of all {len(captions):,} captions, 6-gram", *fit_characters(captions), FRENCH),
    ]
    for row in rows:
        sign = ">" if row["agrees"] else "=" if row["log_prob_better"] == row["log_prob_worse"] else "<"
        print(f"{row['log_prob_better']:8.2f} {sign} {row['log_prob_worse']:8.2f}   {row['better']} | {row['worse']}")
        print(f"{'':22}{row['model']}{'; unknown: ' if row['unknown'] else ''}{', '.join(row['unknown'])}")
    counts = {phrase: occurrences(texts, phrase) for phrase in PHRASES}
    print("in WikiText-2's training text:", ", ".join(f"{phrase} {count}" for phrase, count in counts.items()))
    write_results("sentence_pairs", {"pairs": rows, "occurrences": counts})


if __name__ == "__main__":
    main()
