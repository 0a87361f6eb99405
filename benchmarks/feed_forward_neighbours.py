# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Nearest neighbours of frequent and rare words under each initialisation of the feed-forward model (slide Y:288-305).

    OMP_NUM_THREADS=1 python -m benchmarks.feed_forward_neighbours [--share 6] [--pictures FOLDER]

One small model is trained on the first part of WikiText-2 with each initialisation, all else equal. Words are drawn
from five bands of frequency. Measures of each word's five nearest neighbours by cosine:

- how near they are (`similarity`), how frequent they are (`median count`), how many are rare (`rare`: 5 times or less);
- how many have the word's form (`same form`: a number, capitalised, lower case, other);
- how similar their contexts are in all of WikiText-2, which the models saw a part of (`context cosine`): the mean
  cosine of count vectors, positive pointwise mutual information with the 1,000 most frequent tokens at distances -2,
  -1, 1, 2, reduced to 100 dimensions.

Beside it: words drawn at random in place of neighbours, and the neighbours that the count vectors themselves give.
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModelForCausalLM

from benchmarks.common import ROOT, new_parser, read_options, timed, wikitext, write_results
from hf_lecture_models import WordTokenizer, evaluate_language_model
from hf_lecture_models.analysis.neighbours import nearest_neighbours, neighbour_table, special_ids
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.lab.claims.methods.neighbours import count_vectors
from hf_lecture_models.lab.studies.neighbour_pictures import save_neighbour_map, save_neighbours
from hf_lecture_models.tasks.core.factories import make_model
from hf_lecture_models.tasks.language_models.blocks import token_stream
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe, train_causal_lm

RECIPE = ROOT / "training" / "recipes" / "feed_forward_neighbours.yaml"
MODELS: dict[str, dict[str, Any]] = {
    "free": {"model.initialization": "free"},
    "one vector": {"model.initialization": "one_vector"},
    "equal": {"model.initialization": "equal"},
    "tied": {"model.tie_word_embeddings": True},
}
# Kinds of words as on the slide, chosen before anything was trained: frequent to rare, the last three once.
WORDS = ["is", "French", "conducted", "Greek", "automatically", "nineteenth", "Danish", "Simone", "499"]
BANDS = {
    "1,000 and more": (1000, 10**9),
    "100 to 999": (100, 1000),
    "10 to 99": (10, 100),
    "2 to 9": (2, 10),
    "1": (1, 2),
}
WORDS_PER_BAND, NEIGHBOURS, RARE = 300, 5, 5


def form(word: str) -> str:
    """Return the form of a word, which one sees without knowing the word."""
    if any(letter.isdigit() for letter in word):
        return "number"
    return "capitalised" if word[:1].isupper() else "lower case" if word.isalpha() else "other"


class Measures:
    """Figures about neighbours, for words drawn from each band of frequency."""

    def __init__(self, tokenizer: WordTokenizer, counts: np.ndarray, reference: Tensor) -> None:
        self.counts, self.tokenizer, self.reference = counts, tokenizer, F.normalize(reference.double())
        self.words = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        self.forms = np.array([form(word) for word in self.words])
        ordinary = np.array([i not in special_ids(tokenizer) for i in range(len(tokenizer))])
        self.ordinary = np.flatnonzero(ordinary)
        random = np.random.default_rng(0)
        self.bands = {}
        for name, (least, below) in BANDS.items():
            ids = np.flatnonzero(ordinary & (counts >= least) & (counts < below))
            self.bands[name] = np.sort(random.permutation(ids)[:WORDS_PER_BAND])

    def of(self, source: Any, which: str = "input") -> dict[str, dict[str, float]]:
        """Return the measures by band, for a model or a table of vectors."""
        figures = {}
        for band, ids in self.bands.items():
            words = [self.words[i] for i in ids]
            found = nearest_neighbours(source, self.tokenizer, words, NEIGHBOURS, which)
            near = np.array([[neighbour.id for neighbour in one.neighbours] for one in found])
            similarity = statistics.fmean(neighbour.similarity for one in found for neighbour in one.neighbours)
            figures[band] = {"words": len(ids), "similarity": round(similarity, 6)} | self._describe(ids, near)
        return figures

    def at_random(self) -> dict[str, dict[str, float]]:
        """Return the measures by band, with random words in place of neighbours."""
        random = np.random.default_rng(1)
        drawn = {band: random.choice(self.ordinary, (len(ids), 100)) for band, ids in self.bands.items()}
        return {band: self._describe(self.bands[band], near) for band, near in drawn.items()}

    def _describe(self, ids: np.ndarray, near: np.ndarray) -> dict[str, float]:
        alike = (self.reference[ids][:, None] * self.reference[near]).sum(-1)
        return {
            "median count": float(np.median(self.counts[near])),
            "rare": round(float((self.counts[near] <= RARE).mean()), 3),
            "same form": round(float((self.forms[near] == self.forms[ids][:, None]).mean()), 3),
            "context cosine": round(alike.mean().item(), 3),
            "context cosine, standard error": round(alike.mean(1).std().item() / len(ids) ** 0.5, 3),
        }


def train_model(overrides: dict[str, Any], tokenizer: WordTokenizer, texts: list[str], folder: str) -> tuple[Any, dict]:
    """Return the trained model, and the CPU seconds of its training."""
    recipe = load_recipe(RECIPE, overrides | {"output_dir": folder}, recipe_class=CausalLMRecipe)
    model = make_model(AutoModelForCausalLM, recipe.model, tokenizer, recipe.seed)
    result, cpu_seconds, _ = timed(lambda: train_causal_lm(model, tokenizer, texts, None, folder, recipe, quiet=True))
    losses = [row["loss"] for row in result.history if "loss" in row]
    return model.eval(), {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "steps": result.step,
        "tokens": result.items,
        "cpu_seconds": round(cpu_seconds),
        "last_loss": round(losses[-1], 4),
    }


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--share", type=int, default=6, help="train on the first 1/SHARE of the lines")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of the neighbours")
    arguments = read_options(parser)
    torch.set_num_threads(1)
    everything, held_out = wikitext("train"), wikitext("valid")
    texts, held_out = everything[: len(everything) // arguments.share], held_out[: len(held_out) // 4]
    tokenizer = WordTokenizer.train(texts, progress=False)
    counts = np.bincount(token_stream(tokenizer, texts)[0], minlength=len(tokenizer))
    torch.manual_seed(0)
    reference = count_vectors(token_stream(tokenizer, everything)[0], len(tokenizer))
    measures = Measures(tokenizer, counts, reference)
    models: dict[str, Any] = {}
    results: dict[str, Any] = {"words of training": int(counts.sum()), "vocabulary": len(tokenizer), "models": models}
    results["random words"], results["count vectors"] = measures.at_random(), measures.of(reference)
    tables: dict[str, dict[str, Any]] = {"input": {}, "output": {}}
    for name, overrides in MODELS.items():
        with tempfile.TemporaryDirectory() as output:
            model, models[name] = train_model(overrides, tokenizer, texts, output)
        perplexity = evaluate_language_model(model, tokenizer, held_out, stream=True)["perplexity"]
        models[name] |= {"validation_perplexity": round(perplexity, 2)}
        for which, table in tables.items():
            models[name][which] = measures.of(model, which)
            table[name] = nearest_neighbours(model, tokenizer, WORDS, NEIGHBOURS, which, counts=counts.tolist())
        print(f"{name}: {models[name]}", flush=True)
        if arguments.pictures:
            save_neighbour_map(model, tables["input"][name], arguments.pictures / f"{name.replace(' ', '_')}.png")
    results["tables"] = {which: neighbour_table(table).splitlines() for which, table in tables.items()}
    print("\n".join(results["tables"]["input"]))
    if arguments.pictures:
        save_neighbours(tables["input"], arguments.pictures / "table.png", title="input embeddings, by initialisation")
    write_results("feed_forward_neighbours", results)


if __name__ == "__main__":
    main()
