# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Estimate and measure an n-gram language model by a recipe. Reads: texts, one on each line, or rows with `text`.

    hf-lecture train fit_ngram [RECIPE.yaml] [--name value ...]
    hf-lecture train fit_ngram ngram --order 2 --smoothing add_alpha --alpha 0.1

The output folder holds the model with its tokenizer, the recipe, a card, and the card's facts.json.
"""

import argparse
import dataclasses
import logging
import sys
import time
from typing import Any

from hf_lecture_models.data.reading import read_part_texts
from hf_lecture_models.data.recipe import TextsRecipe
from hf_lecture_models.data.streaming import read_training_texts
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.hub.card import write_card
from hf_lecture_models.hub.facts import collect_facts, write_facts
from hf_lecture_models.io.files import check_writable, staged_folder, write_file
from hf_lecture_models.io.progress import hide_other_bars
from hf_lecture_models.io.recipe import describe_fields, load_recipe, parse_overrides, setting, write_yaml
from hf_lecture_models.io.runs import as_program
from hf_lecture_models.models.ngram.checks_ngram import SMOOTHINGS, ngram_counts
from hf_lecture_models.models.ngram.classes.class_files import save_with_classes
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.out_of_core.engines import ENGINES
from hf_lecture_models.models.ngram.out_of_core.estimation import MemoryLimit
from hf_lecture_models.tasks.core.afterwards import next_line
from hf_lecture_models.tasks.core.factories import make_tokenizer
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe
from hf_lecture_models.tokenization.registry import tokenizer_types

OPTIONS = ("order", "smoothing", "alpha", "katz_k", "backoff_factor", "prune")


@dataclasses.dataclass(kw_only=True)
class NGramRecipe(TextsRecipe):
    """The fields of an n-gram's recipe. Without test data, the model is measured on the validation texts."""

    order: int = setting(5, "words in the longest n-gram")
    smoothing: str = setting("modified_kneser_ney", "how unseen n-grams get their probability", choices=SMOOTHINGS)
    alpha: float = setting(1.0, "what add_alpha adds to every count")
    katz_k: int = setting(5, "katz discounts counts of 1 to katz_k")
    backoff_factor: float = setting(0.4, "weight of each step to a shorter context under stupid_backoff")
    prune: list[int] | None = setting(None, "per order, leave out n-grams (order 1: words) that occur at most so often")
    classes: int = setting(0, "number of classes of words, learnt from the texts, whose n-grams are counted; 0: words")
    class_file: str = setting("", "count n-grams of the classes in this file, in SRILM's format")
    tokenizer: dict[str, Any] = setting({"type": "word"}, f"type {tokenizer_types()}; options of its train()")

    memory: str = setting("", "beyond this limit, n-grams are counted on disk; '': no limit, or 2GB if engine is given")
    engine: str = setting("", "what counts on disk; '': numpy beyond the limit", choices=("", "memory", *ENGINES))
    work_dir: str = setting("", "folder of the files on disk, from which a stopped run continues; '': OUTPUT_DIR.work")

    output_dir: str = setting("ngram", "folder of the model")
    arpa: str = setting("", "also write the model as this ARPA file (.arpa or .arpa.gz; NAME.classes beside it)")
    name: str = setting("n-gram language model", "title of the card")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("output_dir", "name"):
            if not getattr(self, name):
                raise ValueError(f"recipe: {name} is empty; give one")
        if self.memory_limit is None and self.work_dir:
            raise ValueError("recipe: work_dir is for estimation out of core; give a limit, such as memory 2GB")
        if self.classes and self.class_file:
            raise ValueError("recipe: classes and class_file are both given; leave one out")
        if self.arpa and not self.arpa.endswith((".arpa", ".arpa.gz")):
            raise ValueError(f"recipe: arpa is {self.arpa!r}; its name must end in .arpa or .arpa.gz")
        if self.arpa and self.smoothing == "stupid_backoff":
            raise ValueError("recipe: an ARPA file holds probabilities, and stupid_backoff has none; leave arpa out")

    @property
    def memory_limit(self) -> MemoryLimit | None:
        """Return the limit that `NGramForCausalLM.fit` takes as `memory`, or None."""
        if not self.memory and not self.engine:
            return None
        return MemoryLimit(self.memory or "2GB", self.engine or None, self.work_dir or f"{self.output_dir}.work")


def texts_to_measure(recipe: NGramRecipe) -> tuple[str, list[str] | None]:
    """Return the name of the split to measure, and its texts."""
    texts = read_part_texts(recipe, "test")
    return ("test", texts) if texts is not None else ("validation", read_part_texts(recipe, "validation"))


def fit(recipe: NGramRecipe, texts: Any) -> tuple[NGramForCausalLM, Any, dict[str, Any]]:
    """Return the estimated model, its tokenizer, and the seconds that estimation took."""
    begin, begin_cpu = time.perf_counter(), time.process_time()
    tokenizer = make_tokenizer(recipe.tokenizer, texts)
    model = NGramForCausalLM.fit(
        texts,
        tokenizer,
        **{name: getattr(recipe, name) for name in OPTIONS},
        classes=recipe.class_file or recipe.classes or None,
        held_out=read_part_texts(recipe, "validation") if recipe.smoothing == "jelinek_mercer" else None,
        memory=recipe.memory_limit,
    )
    spent = {"seconds": round(time.perf_counter() - begin, 2), "cpu_seconds": round(time.process_time() - begin_cpu, 2)}
    return model, model.own_tokenizer, spent | {"device": model.device.type}


def measure(
    recipe: NGramRecipe, fitted: tuple[NGramForCausalLM, Any, dict[str, Any]], split: str, texts: list[str] | None
) -> dict[str, Any] | None:
    """Return the facts for the card, or None without texts to measure or if the scores have no perplexity."""
    model, tokenizer, training = fitted
    if not model.config.is_distribution:
        print(f"{recipe.smoothing}: scores for ranking, which have no perplexity; nothing is measured, no card written")
    if texts is None or not model.config.is_distribution:
        return None
    results = evaluate_language_model(model, tokenizer, texts)
    print(f"{split} perplexity {results['perplexity']:.2f}, bits per byte {results['bits_per_byte']:.3f}")
    return collect_facts(
        model,
        tokenizer,
        results,
        name=recipe.name,
        data={"name": "see the recipe", "split": split, **recipe.data},
        task=CausalLM().describe(model, CausalLMRecipe()),
        recipe=dataclasses.asdict(recipe),
        training=training,
        command="hf-lecture train fit_ngram recipe.yaml",
    )


def main(arguments: list[str]) -> None:
    """Read the command line, estimate, measure and save."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        usage="%(prog)s [RECIPE.yaml] [--name value ...]",
        epilog=describe_fields(NGramRecipe),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if not {"--help", "-h"}.isdisjoint(arguments):
        parser.parse_args(["--help"])
    path = arguments[0] if arguments and not arguments[0].startswith("--") else None
    recipe = load_recipe(path, parse_overrides(arguments[path is not None :]), recipe_class=NGramRecipe)
    to_measure = texts_to_measure(recipe)  # first, so that a missing file is found before the estimation
    check_writable(recipe.output_dir, recipe.arpa)
    model, tokenizer, training = fitted = fit(recipe, read_training_texts(recipe, streamed=bool(recipe.memory_limit)))
    sizes = ", ".join(f"{size:,}" for size in ngram_counts(model.config))
    print(f"{sizes} n-grams of orders 1 to {recipe.order} in {training['seconds']} s")
    facts = measure(recipe, fitted, *to_measure)
    with staged_folder(recipe.output_dir) as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        write_file(folder / "recipe.yaml", write_yaml(dataclasses.asdict(recipe)))
        if facts is not None:
            write_facts(folder, facts)
            write_card(folder, facts)
    if recipe.arpa:
        save_with_classes(model, tokenizer, recipe.arpa)
    if limit := recipe.memory_limit:
        del model, fitted  # Windows deletes no tables that a model has mapped
        limit.clear()
    print(f"saved in {recipe.output_dir}", next_line(CausalLM(), recipe.output_dir), sep="\n")


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    hide_other_bars()  # those of loading and saving
    try:
        with as_program():
            main(sys.argv[1:])
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
