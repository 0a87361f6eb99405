# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""word2vec beside gensim on the same words of WikiText-2: words per second, and what the vectors know.

    OMP_NUM_THREADS=1 python -m benchmarks.word2vec [--repeats 3] [--epochs 5]

Both train on WikiText-2's training text without the words that occur less than five times, and without `<unk>`: the
same sentences, 100 numbers a word, windows of up to 5, 5 words of noise for each pair, subsampling at 0.001. Ours by
the recipe `training/recipes/word2vec_wikitext2.yaml`, in the training loop, with the checkpoint and the model that it
writes; gensim on one worker thread. Words per CPU second count every word of the text in every epoch, also those that
subsampling drops; the tokenizer's and gensim's vocabulary are made before. In turns, and the least CPU time of the
repeats.

The held-out loss of a pair is that of our own evaluation for both, on the validation text, with the same windows and
noise (gensim's two matrices are put into our model); words per second are compared only beside it. Similarities
(WordSim-353, SimLex-999, MEN) and analogies (questions-words) are measured as in `analysis/word_tests.py`, for both.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.common import ROOT, data_folder, read_options, timed, write_results
from hf_lecture_models.analysis.word_tests import read_analogies, read_word_pairs, word_analogies, word_similarity
from hf_lecture_models.tasks.word_vectors import WordVectors, WordVectorsRecipe
from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.trainer.recipe import load_recipe

RECIPE = ROOT / "training" / "recipes" / "word2vec_wikitext2.yaml"
PAIRS = {"WordSim-353": "EN-WS-353-ALL.tsv", "SimLex-999": "EN-SIMLEX-999.tsv", "MEN": "EN-MEN-TR-3k.tsv"}
TASK = WordVectors()


def train_ours(recipe: WordVectorsRecipe, tokenizer: Any, texts: Sequence[str]) -> tuple[Any, float]:
    """The model, and the CPU seconds of its training."""
    model = TASK.model(recipe, tokenizer, texts)
    with tempfile.TemporaryDirectory() as folder:
        _, seconds, _ = timed(
            lambda: TASK.train(model, tokenizer, texts, None, recipe, output_dir=Path(folder) / "run", quiet=True)
        )
    return model, seconds


def train_gensim(recipe: WordVectorsRecipe, tokenizer: Any, sentences: list[list[str]], seed: int) -> tuple[Any, float]:
    """gensim's vectors in a model of ours, and the CPU seconds of their training."""
    from gensim.models import Word2Vec

    model = TASK.model(recipe, tokenizer, [" ".join(sentence) for sentence in sentences])
    theirs = Word2Vec(
        vector_size=model.config.hidden_size,
        window=model.config.window_size,
        negative=model.config.num_negatives,
        sg=int(model.config.architecture == "skip_gram"),
        sample=recipe.subsample_threshold,
        epochs=round(recipe.epochs),
        min_count=1,
        workers=1,
        seed=seed,
    )
    theirs.build_vocab(sentences)
    _, seconds, _ = timed(lambda: theirs.train(sentences, total_examples=len(sentences), epochs=theirs.epochs))
    ids = torch.tensor(tokenizer.convert_tokens_to_ids(theirs.wv.index_to_key))
    with torch.no_grad():
        model.model.embed_tokens.weight[ids] = torch.from_numpy(theirs.wv.vectors.copy())
        model.output.weight[ids] = torch.from_numpy(theirs.syn1neg.copy())
    return model, seconds


def quality(model: Any, tokenizer: Any, recipe: WordVectorsRecipe, validation: Sequence[str]) -> dict[str, float]:
    """The held-out loss, the correlations, and the share of analogies that are right."""
    data = data_folder()
    found = {"held_out_loss": TASK.evaluate(model, tokenizer, validation, recipe)["pair_loss"]}
    for name, file in PAIRS.items():
        result = word_similarity(model, tokenizer, read_word_pairs(data / "word_similarity" / file))
        found |= {name: result.spearman, f"{name} pairs": result.pairs}
    questions = read_analogies(data / "word_analogy" / "questions-words.txt")
    total = word_analogies(model, tokenizer, questions)["total"]
    return found | {"analogies": total.accuracy, "analogies asked": total.asked}


def compare(architecture: str, repeats: int, epochs: float) -> dict[str, Any]:
    """Both, so many times in turns; qualities of the first run."""
    overrides = {"model.architecture": architecture, "epochs": epochs, "output_dir": "unused"}
    recipe = load_recipe(RECIPE, overrides, recipe_class=WordVectorsRecipe)
    wikitext = data_folder() / "wikitext-2"
    recipe.train_files, recipe.validation_files = [str(wikitext / "train.txt")], [str(wikitext / "valid.txt")]
    texts, validation = TASK.read(recipe, "train"), TASK.read(recipe, "validation")
    assert texts is not None
    assert validation is not None
    tokenizer = TASK.processor(recipe, texts)
    words = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    rows = (ids[ids != tokenizer.unk_token_id] for ids in encode_corpus(tokenizer, texts))
    sentences = [[words[id_] for id_ in ids] for ids in rows if len(ids)]
    total = sum(map(len, sentences)) * epochs
    best: dict[str, float] = {}
    results: dict[str, dict[str, float]] = {}
    for repeat in range(repeats):
        for name in ("ours", "gensim"):
            if name == "ours":
                model, seconds = train_ours(recipe, tokenizer, texts)
            else:
                model, seconds = train_gensim(recipe, tokenizer, sentences, seed=repeat)
            best[name] = min(seconds, best.get(name, seconds))
            if not repeat:
                results[name] = quality(model, tokenizer, recipe, validation)
            print(f"{architecture} {name}: {total / seconds:,.0f} words per CPU second", results[name], flush=True)
    for name, result in results.items():
        result["words_per_cpu_second"] = total / best[name]
    ratio = results["ours"]["words_per_cpu_second"] / results["gensim"]["words_per_cpu_second"]
    print(f"{architecture}: {ratio:.2f}x gensim's words per second")
    return {"words": sum(map(len, sentences)), "epochs": epochs, "speed_ratio": ratio, **results}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epochs", type=float, default=5)
    parser.add_argument("--architectures", nargs="+", default=["skip_gram", "cbow"])
    options = read_options(parser)
    torch.set_num_threads(1)
    results = {name: compare(name, options.repeats, options.epochs) for name in options.architectures}
    write_results("word2vec", results)


if __name__ == "__main__":
    main()
