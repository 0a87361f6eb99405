# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The models of a comparison, and how each is trained: n-grams by counting, networks by the package's own recipes."""

import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.io.runs import raise_signal
from hf_lecture_models.lab.comparison.corpus import first_texts
from hf_lecture_models.lab.comparison.python_reference import Corpus
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tasks.core.factories import make_model
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe, make_batches, train_causal_lm
from hf_lecture_models.tokenization.corpus import encode_corpus

RECIPES = Path(__file__).parent / "recipes"
# Words of the validation text on which a network's best weights are chosen; the table measures all of the text. A short
# training uses at most a twentieth of its tokens, so that choosing takes a tenth of its time.
_SELECTION_WORDS, _MIN_SELECTION_WORDS, _SELECTION_SHARE = 20_000, 1_000, 20
# Steps that measure a network's speed, and the share of its time that is left for evaluation and saving.
_TRIAL_STEPS, _SPARE_TIME = 5, 0.2


@dataclass(frozen=True)
class Scale:
    """The settings of a network's recipe that follow from the size of the corpus; the others stay as they are.

    Attributes:
        length: factor of the recipe's segments of text.
        threads: the most threads to train with.
    """

    hidden_size: int
    dropout: float
    epochs: float
    length: int = 1
    threads: int = 1


@dataclass(frozen=True)
class Result:
    """A trained model, its time and tokens of training, and the recipe or options that made it."""

    model: Any
    seconds: float
    tokens: int
    recipe: dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """The text, the tokenizer and the models of a comparison.

    Attributes:
        baselines: the models, in the order of training.
        facts: the first entries of `results.json`: "command", "title", "text" and "tokenizer".
        data: describes the data on the model cards, as `collect_facts` takes it.
        unit: names the tokens ("words", say).
        note: names the text on which the networks' settings were chosen; printed under the table.
        prompt, pairs: for the reloaded models to complete and to rank.
        unknown_pairs: pairs with words that the text lacks, which a character n-gram ranks.
        scale: None leaves the recipes as they are.
        seconds: the most for each network, estimated from the speed of a few steps; None: no limit.
    """

    corpus: Corpus
    tokenizer: Any
    baselines: "list[Baseline]"
    facts: dict[str, Any]
    data: dict[str, Any]
    unit: str
    note: str
    prompt: str
    pairs: list[list[str]]
    unknown_pairs: Sequence[list[str]] = ()
    licence: str = "apache-2.0"
    seed: int = 0
    scale: Scale | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Baseline:
    """One model of a comparison.

    Attributes:
        name: of its folder.
        title: of its card.
        train: trains the model by the settings of a comparison and saves it, with the tokenizer, in a folder.
        is_network: True for a model that is trained step by step.
    """

    name: str
    title: str
    train: Callable[[Comparison, Path], Result]
    is_network: bool = False


def make_baselines(order: int = 3) -> list[Baseline]:
    """Return the unigram, the n-gram of this `order`, and four networks.

    >>> [baseline.name for baseline in make_baselines(order=4)]
    ['unigram', '4-gram', 'feed_forward', 'rnn', 'lstm', 'self_attention']
    """
    name = "trigram" if order == 3 else f"{order}-gram"
    return [
        _ngram("unigram", "Unigram, add-one", order=1, smoothing="add_alpha", alpha=1.0),
        _ngram(name, f"{name.capitalize()}, modified Kneser-Ney", order=order, smoothing="modified_kneser_ney"),
        _network("feed_forward", "Feed-forward"),
        _network("rnn", "Elman network"),
        _network("lstm", "LSTM"),
        _network("self_attention", "Self-attention"),
    ]


def _ngram(name: str, title: str, **options: Any) -> Baseline:
    return Baseline(name, title, partial(fit_ngram, **options))


def _network(name: str, title: str) -> Baseline:
    return Baseline(name, title, partial(train_network, recipe_name=f"quickstart_{name}"), is_network=True)


def fit_ngram(comparison: Comparison, folder: Path, **options: Any) -> Result:
    """Estimate an n-gram model; `options` as for `NGramForCausalLM.fit`."""
    texts, tokenizer = comparison.corpus.train, comparison.tokenizer
    start = time.perf_counter()
    model = NGramForCausalLM.fit(texts, tokenizer, **options)
    seconds = time.perf_counter() - start
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    tokens = len(encode_corpus(tokenizer, texts).ids) + len(texts)
    return Result(model, seconds, tokens, options | {"tokenizer": comparison.facts["tokenizer"]})


def train_network(comparison: Comparison, folder: Path, recipe_name: str) -> Result:
    """Train a network by one of the package's own recipes; an interrupted run in `folder` is resumed.

    Raises:
        KeyboardInterrupt, SystemExit: training was stopped by a signal; its checkpoint is in `folder`.
    """
    saved = folder / "recipe.yaml"
    resume = saved.exists()
    source = saved if resume else RECIPES / f"{recipe_name}.yaml"
    overrides = {"seed": comparison.seed, "tokenizer": comparison.facts["tokenizer"]}
    recipe = load_recipe(source, overrides, recipe_class=CausalLMRecipe)
    if comparison.scale is not None and not resume:
        recipe = _scaled(recipe, comparison.scale)
    tokenizer = comparison.tokenizer
    model = make_model(AutoModelForCausalLM, recipe.model, tokenizer, recipe.seed)
    if comparison.seconds is not None and not resume:
        recipe = _limit_steps(recipe, model, comparison, comparison.seconds)
    selection = _selection_texts(comparison.corpus.validation, recipe)
    result = train_causal_lm(model, tokenizer, comparison.corpus.train, selection, folder, recipe, resume=resume)
    raise_signal(result.stopped)
    return Result(AutoModelForCausalLM.from_pretrained(folder), result.seconds, result.items, asdict(recipe))


def _selection_texts(texts: list[str], recipe: Any) -> list[str]:
    words = _SELECTION_WORDS
    if recipe.max_steps:
        words = min(words, recipe.max_steps * recipe.batch_size * recipe.sequence_length // _SELECTION_SHARE)
    return first_texts(texts, max(_MIN_SELECTION_WORDS, words))


def _scaled(recipe: Any, scale: Scale) -> Any:
    """Return the recipe at another size: inner widths in proportion, and a lower learning rate for wider networks."""
    model, width = dict(recipe.model), recipe.model["hidden_size"]
    for name, factor in (("intermediate_size", scale.hidden_size / width), ("max_position_embeddings", scale.length)):
        if name in model:
            model[name] = round(model[name] * factor)
    model |= {"hidden_size": scale.hidden_size, "dropout": scale.dropout}
    return replace(
        recipe,
        model=model,
        epochs=scale.epochs,
        sequence_length=recipe.sequence_length * scale.length,
        learning_rate=recipe.learning_rate * min(1, width / scale.hidden_size),
    )


def _limit_steps(recipe: Any, model: Any, comparison: Comparison, seconds: float) -> Any:
    """Return the recipe with the steps that fit into the time, and its schedule shortened to them."""
    epoch = make_batches(comparison.tokenizer, comparison.corpus.train, recipe).steps_per_epoch
    planned = round(recipe.epochs * epoch)
    steps = max(1, min(planned, int((1 - _SPARE_TIME) * seconds * _steps_per_second(recipe, model, comparison))))
    if steps < planned:
        print(
            f"  the time is enough for {steps:,} of {planned:,} steps: {steps / epoch:.2f} passes over the text",
            flush=True,
        )
    every = -(-steps // max(5, min(12, round(recipe.epochs))))
    return replace(recipe, max_steps=steps, evaluate_every=every, warmup_steps=min(recipe.warmup_steps, steps // 5))


def _steps_per_second(recipe: Any, model: Any, comparison: Comparison) -> float:
    """Measure the speed on a copy of the model, and keep the faster number of threads, one or all."""
    # A few texts are enough for a few steps.
    sample = first_texts(comparison.corpus.train, (_TRIAL_STEPS + 1) * recipe.batch_size * recipe.sequence_length)
    trial = replace(recipe, max_steps=_TRIAL_STEPS, warmup_steps=0, save_every=2 * _TRIAL_STEPS)
    speeds = {}
    for threads in sorted({1, torch.get_num_threads()}):
        torch.set_num_threads(threads)
        with TemporaryDirectory() as folder:
            result = train_causal_lm(deepcopy(model), comparison.tokenizer, sample, None, folder, trial, quiet=True)
        raise_signal(result.stopped)
        speeds[threads] = result.step * result.items_per_second / result.items
    # On a busy machine threads wait for each other, and one alone is faster.
    torch.set_num_threads(max(speeds, key=speeds.__getitem__))
    return max(speeds.values())
