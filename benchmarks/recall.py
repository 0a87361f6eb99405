# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What models remember: associative recall, copying, induction and lists of operations, by every kind of attention.

    OMP_NUM_THREADS=1 python -m benchmarks.recall                           # all runs, about 40 CPU minutes
    python -m benchmarks.recall --only 'induction-*-0' '*-lstm-*'  # those whose names match

Every model has two layers of width 64 and makes the same steps on the same texts
(`tasks/language_models/synthetic_texts.py`). Measured on texts of their own: the share of right answers, for each
number of pairs and by the distance between a word and its earlier place; and the step of the breakthrough, the first
validation at which nine of ten answers are right. The windows and blocks of efficient attention are shorter than the
texts. Transformer-XL learns from whole texts, and is also measured when it reads them in segments with memories of
several sizes. The low-rank model is a masked one and reads all answers as masks. Each run is written when it ends,
and a finished run is not made again.
"""

import json
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.common import ROOT, is_committed, new_parser, read_options, write_results
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.runs import checked_out_commit
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.language_models.recall import SyntheticRecall, SyntheticRecallRecipe
from hf_lecture_models.tasks.language_models.synthetic_texts import TextShape, synthetic_rows

SHAPE: dict[str, Any] = {"hidden_size": 64, "num_hidden_layers": 2, "dropout": 0.0, "tie_word_embeddings": True}
BLOCKS: dict[str, Any] = {"num_attention_heads": 2, "initializer_range": 0.1}
POSITIONS = {"position_encoding": "learned", "max_position_embeddings": 96}
EFFICIENT = {"model_type": "lecture_efficient_transformer", **SHAPE, **BLOCKS, **POSITIONS}
EFFICIENT |= {"window_size": 8, "num_sentinels": 1, "num_random_blocks": 1, "block_size": 8, "projected_length": 16}
MODELS: dict[str, dict[str, Any]] = {
    "dense": {"model_type": "lecture_self_attention", **SHAPE, **BLOCKS, **POSITIONS},
    "dense_relative": {"model_type": "lecture_self_attention", **SHAPE, **BLOCKS, "position_encoding": "relative"},
    **{
        kind: {**EFFICIENT, "attention_kind": kind}
        for kind in ("local", "random", "hierarchical", "low_rank", "linear", "performer", "hashing")
    },
    "transformer_xl": {"model_type": "transfo-xl", **SHAPE, **BLOCKS, "mem_len": 0},
    "lstm": {"model_type": "lecture_recurrent", "cell_type": "lstm", **SHAPE},
    "gru": {"model_type": "lecture_recurrent", "cell_type": "gru", **SHAPE},
}
TEXTS: dict[str, dict[str, Any]] = {
    "associative_recall": {"length": 32, "words": 32, "pairs": [4, 8], "max_steps": 2000},
    "induction": {"length": 32, "words": 32, "max_steps": 500},
    "copying": {"length": 33, "words": 32, "max_steps": 300},
    "list_operations": {"length": 80, "depth": 3, "max_steps": 800},
}
SEEDS = {"associative_recall": 1, "induction": 3, "copying": 1, "list_operations": 1}
TEST_TEXTS, BREAKTHROUGH = 400, 0.9
SEGMENT, MEMORIES = 8, (0, 8, 16, 32)
DISTANCES = (4, 8, 12, 16, 20, 24, 28, 32)
TASK = SyntheticRecall()


def recipe_of(texts: str, model: str, seed: int, folder: Path) -> SyntheticRecallRecipe:
    """Return the recipe of a run; only the model and the texts differ."""
    masked = MODELS[model].get("attention_kind") == "low_rank"
    return SyntheticRecallRecipe(
        **{"texts": texts, **TEXTS[texts]},
        model=MODELS[model],
        masked=masked,
        tokenizer={"type": "word", "template": "roberta"} if masked else {"type": "word"},
        seed=seed,
        validation_size=200,
        evaluate_every=50,
        log_every=50,
        save_every=100_000,
        learning_rate=0.003,
        schedule="constant",
        warmup_steps=50,
        weight_decay=0.01,
        clip_norm=1.0,
        output_dir=str(folder),
    )


def distance_of(words: list[str], place: int) -> int | None:
    """Return how far back the pair of the word before and this word stands; None if it stands nowhere."""
    earlier = [at for at in range(1, place) if words[at - 1 : at + 1] == words[place - 1 : place + 1]]
    return place - earlier[-1] if earlier else None


def accuracies(model: Any, tokenizer: Any, recipe: SyntheticRecallRecipe) -> dict[str, Any]:
    """Measure a model on texts that it did not see, by the number of pairs and by distance."""
    found: dict[str, Any] = {"accuracy": {}, "distance": {}}
    right_at: dict[int, list[bool]] = {}
    for pairs in recipe.pairs if recipe.texts == "associative_recall" else recipe.pairs[:1]:
        rows = test_rows(recipe, pairs)
        right = TASK.right_answers(model, tokenizer, TASK.encode(model, tokenizer, rows, recipe))
        found["accuracy"][str(pairs)] = float(np.mean([one for own in right for one in own]))
        for row, own in zip(rows, right, strict=True):
            words = row["text"].split()
            for place, one in zip(row["answers"], own, strict=True):
                if (distance := distance_of(words, place)) is not None:
                    right_at.setdefault(next(most for most in DISTANCES if distance <= most), []).append(one)
    if recipe.texts == "list_operations":
        last = [text.split()[-1] for text in rows.columns["text"]]
        found["majority"] = max(map(last.count, last)) / len(last)
    else:
        found["distance"] = {str(most): float(np.mean(right_at[most])) for most in sorted(right_at)}
    return found


def test_rows(recipe: SyntheticRecallRecipe, pairs: int) -> Rows:
    """Return texts with so many pairs that no run has seen."""
    shape = TextShape(recipe.length, recipe.words, pairs, recipe.depth)
    return synthetic_rows(recipe.texts, TEST_TEXTS, (1, pairs), shape)


@torch.no_grad()
def in_segments(model: Any, tokenizer: Any, recipe: SyntheticRecallRecipe, memory: int) -> float:
    """Return the share of right answers of texts that are read in segments, with a memory of so many tokens."""
    model.config.mem_len = memory
    right = []
    for pairs in recipe.pairs:
        encoded = TASK.encode(model, tokenizer, test_rows(recipe, pairs), recipe)
        for text in encoded.inputs:
            ids, cache, best = torch.tensor([text.ids]), None, []
            for part in ids.split(SEGMENT, dim=1):
                outputs = model(part, past_key_values=cache, use_cache=True)
                cache = outputs.past_key_values
                best += outputs.logits[0].argmax(-1).tolist()
            right += [best[place] == answer for place, answer in zip(text.places, text.answers, strict=True)]
    return float(np.mean(right))


def run(texts: str, model_name: str, seed: int, folder: Path) -> dict[str, Any]:
    """Train and measure a model."""
    recipe = recipe_of(texts, model_name, seed, folder)
    begin = time.process_time()
    training = train_and_test(TASK, recipe).training
    seconds = time.process_time() - begin
    curve = [
        [row["step"], round(row["validation_accuracy"], 4)] for row in training.history if "validation_accuracy" in row
    ]
    model, tokenizer = load_model(str(folder))
    measured = accuracies(model.eval(), tokenizer, recipe)
    if model_name == "transformer_xl" and texts == "associative_recall":
        measured["segments"] = {str(memory): in_segments(model, tokenizer, recipe, memory) for memory in MEMORIES}
    return {
        "texts": texts,
        "model": model_name,
        "seed": seed,
        "parameters": model.num_parameters(),
        "cpu_seconds": round(seconds, 1),
        "breakthrough": next((step for step, accuracy in curve if accuracy >= BREAKTHROUGH), None),
        "curve": curve,
        **measured,
        "commit": checked_out_commit(),
    }


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "runs" / "recall")
    parser.add_argument("--only", nargs="+", default=["*"], help="patterns of names: texts-model-seed")
    options = read_options(parser)
    torch.set_num_threads(1)
    results = []
    for texts, model, seed in ((t, m, s) for t in TEXTS for s in range(SEEDS[t]) for m in MODELS):
        name = f"{texts}-{model}-{seed}"
        path = options.folder / f"{name}.json"
        if not path.is_file() and any(fnmatch(name, pattern) for pattern in options.only):
            result = run(texts, model, seed, options.folder / name)
            path.write_text(json.dumps(result) + "\n", encoding="utf-8")
            print(name, result["accuracy"], "breakthrough", result["breakthrough"], result["cpu_seconds"], flush=True)
        if path.is_file():
            results.append(json.loads(path.read_text(encoding="utf-8")))
    if options.dirty or all(is_committed(result["commit"]) for result in results):
        write_results("recall", {"shape": SHAPE, "texts": TEXTS, "test_texts": TEST_TEXTS, "runs": results})
    else:
        print("some runs were made by uncommitted code; delete them in the folder, and nothing is recorded until then")


if __name__ == "__main__":
    main()
