# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""word2vec beside gensim on the same words of WikiText-2: words per second, and tests of the vectors.

    OMP_NUM_THREADS=1 python -m benchmarks.word2vec [--repeats 3]

Both train on WikiText-2's training text without the words that occur less than five times, and without `<unk>`: the
same sentences, 100 numbers a word, windows of up to 5, 5 words of noise for each pair, subsampling at 0.001. Ours by
the recipe `training/recipes/word2vec_wikitext2.yaml`, in the training loop, with the checkpoint and the model that it
writes, with matrix products in bfloat16 (once more in float32); gensim, in float32, on one worker thread. Words per CPU
second count every word of the text in every epoch, also those that subsampling drops; the tokenizer's and gensim's
vocabulary are made before. In turns, and the least CPU time of the repeats.

The held-out loss of a pair is that of our own evaluation for both, on the validation text, with the same windows and
noise (gensim's two matrices are put into our model). gensim makes five epochs, its default, and so do we; our
CBOW, which ends far below gensim's loss, is also trained with the epochs that are enough for that loss. "seconds to the
same loss" are gensim's over ours, of the shortest run whose loss is at most 0.1 % above gensim's. Similarities
(WordSim-353, SimLex-999, MEN) and analogies (questions-words) are measured as in `lab/studies/word_tests.py`, for both.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.common import ROOT, data_folder, new_parser, read_options, timed, write_results
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.lab.studies.word_tests import read_analogies, read_word_pairs, word_analogies, word_similarity
from hf_lecture_models.tasks.word_vectors.task import WordVectors, WordVectorsRecipe
from hf_lecture_models.tokenization.corpus import encode_corpus

RECIPE = ROOT / "training" / "recipes" / "word2vec_wikitext2.yaml"
PAIRS = {"WordSim-353": "EN-WS-353-ALL.tsv", "SimLex-999": "EN-SIMLEX-999.tsv", "MEN": "EN-MEN-TR-3k.tsv"}
PEER, EPOCHS = "gensim", 5
# Epochs, and the precision of the matrix products.
OURS = {"skip_gram": ((EPOCHS, "bf16"), (EPOCHS, "no")), "cbow": ((EPOCHS, "bf16"), (1.5, "bf16"))}
SETTINGS = {"skip_gram": {}, "cbow": {"learning_rate": 0.4}}
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


def named(runs: Sequence[tuple[float, str]]) -> list[tuple[str, float, str]]:
    """Name, epochs and precision of our runs."""
    return [(f"ours, {epochs} epochs{'' if low == 'bf16' else ', float32'}", epochs, low) for epochs, low in runs]


def compare(architecture: str, repeats: int, scale: float) -> dict[str, Any]:
    """All runs, so many times in turns; qualities of the first."""
    overrides = {"model.architecture": architecture, "output_dir": "unused", **SETTINGS[architecture]}
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
    total = sum(map(len, sentences))
    runs: dict[str, dict[str, float]] = {}
    for repeat in range(repeats):
        for name, epochs, precision in [(PEER, EPOCHS, "no"), *named(OURS[architecture])]:
            changed = replace(recipe, epochs=epochs * scale, mixed_precision=precision)
            if name == PEER:
                model, seconds = train_gensim(changed, tokenizer, sentences, seed=repeat)
            else:
                model, seconds = train_ours(changed, tokenizer, texts)
            if not repeat:
                runs[name] = {"epochs": changed.epochs, "cpu_seconds": seconds}
                runs[name] |= quality(model, tokenizer, recipe, validation)
            seconds = min(seconds, runs[name]["cpu_seconds"])
            runs[name] |= {"cpu_seconds": seconds, "words_per_cpu_second": total * changed.epochs / seconds}
            print(architecture, name, runs[name], flush=True)
    theirs = runs[PEER]
    as_good = [
        run for run in runs.values() if run is not theirs and run["held_out_loss"] < 1.001 * theirs["held_out_loss"]
    ]
    ratios = {
        "words_per_cpu_second": runs[f"ours, {EPOCHS} epochs"]["words_per_cpu_second"] / theirs["words_per_cpu_second"]
    }
    if as_good:
        ratios["seconds to the same loss"] = theirs["cpu_seconds"] / min(run["cpu_seconds"] for run in as_good)
    print(architecture, ratios, flush=True)
    return {"words": total, "runs": runs, "ratios": ratios}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the epochs, to try it")
    options = read_options(parser)
    torch.set_num_threads(1)
    write_results("word2vec", {name: compare(name, options.repeats, options.scale) for name in OURS})


if __name__ == "__main__":
    main()
