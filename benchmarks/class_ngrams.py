# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Class-based and Pitman-Yor n-grams on WikiText-2: alone, and interpolated with the n-gram of words.

    OMP_NUM_THREADS=1 python -m benchmarks.class_ngrams [--classes 500] [--orders 3 5] [--part 10]

The classes are found once, by the exchange algorithm, and serve all orders. Weights are set by the validation text,
perplexities are of the test text, per word, one text per line, blank lines counted. The hierarchical Pitman-Yor process
and modified Kneser-Ney are estimated from the first tenth of the training text (`--part 10`), with its words; all other
words are <unk>, which the text has. About 6 CPU minutes.
"""

import tempfile
from pathlib import Path

from benchmarks.common import new_parser, read_options, timed, wikitext, write_results
from hf_lecture_models import NGramForCausalLM, WordTokenizer, evaluate_language_model


def perplexity(model, tokenizer, texts: list[str]) -> float:
    return evaluate_language_model(model, tokenizer, texts)["word_perplexity"]


def measure_classes(texts: dict[str, list[str]], orders: list[int], number: int) -> dict:
    tokenizer = WordTokenizer.train(texts["train"], progress=False)
    bigram, seconds, _ = timed(lambda: NGramForCausalLM.fit(texts["train"], tokenizer, 2, classes=number))
    print(f"{number} classes of {len(tokenizer)} words in {seconds:.0f} CPU s", flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classes"
        bigram.save_arpa(Path(folder) / "bigram.arpa", tokenizer, classes=path)
        for order in orders:
            words = NGramForCausalLM.fit(texts["train"], tokenizer, order, progress=False)
            classes = NGramForCausalLM.fit(texts["train"], tokenizer, order, classes=path, progress=False)
            both = NGramForCausalLM.interpolate([words, classes], tokenizer, texts["valid"], progress=False)
            found = [perplexity(model, tokenizer, texts["test"]) for model in (words, classes, both)]
            row = dict(zip(("words", "classes", "interpolated"), found, strict=True))
            rows.append({"order": order, **row, "weight_of_classes": both.config.mixture_weights[1]})
            print(f"order {order}: words {found[0]:.1f}, classes {found[1]:.1f}, both {found[2]:.1f}", flush=True)
    return {"vocab_size": len(tokenizer), "classes": number, "classes_cpu_s": seconds, "rows": rows}


def measure_pitman_yor(texts: dict[str, list[str]], order: int, part: int) -> dict:
    train = texts["train"][: len(texts["train"]) // part]
    tokenizer = WordTokenizer.train(train, progress=False)
    rows = []
    for smoothing in ("kneser_ney", "modified_kneser_ney", "pitman_yor"):
        model, seconds, _ = timed(lambda name=smoothing: NGramForCausalLM.fit(train, tokenizer, order, name))
        found = perplexity(model, tokenizer, texts["test"])
        print(f"{smoothing}, first 1/{part}: {found:.1f} in {seconds:.1f} CPU s", flush=True)
        estimated = {"discounts": model.config.discounts, "strengths": model.config.strengths}
        rows.append({"smoothing": smoothing, "perplexity": found, "fit_cpu_s": seconds, **estimated})
    words = sum(len(text.split()) + 1 for text in train)
    return {"order": order, "part": part, "words": words, "vocab_size": len(tokenizer), "rows": rows}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--classes", type=int, default=500)
    parser.add_argument("--orders", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--part", type=int, default=10)
    arguments = read_options(parser)
    texts = {split: wikitext(split) for split in ("train", "valid", "test")}
    classes = measure_classes(texts, arguments.orders, arguments.classes)
    pitman_yor = measure_pitman_yor(texts, min(arguments.orders), arguments.part)
    write_results("class_ngrams", {"class_based": classes, "pitman_yor": pitman_yor})


if __name__ == "__main__":
    main()
