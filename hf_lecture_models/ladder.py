# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The ladder: every kind of language model, trained on one text with one tokenizer, measured alike, in one table.

`hf-lecture quickstart` climbs it on text that comes with Python, `hf-lecture ladder` on the user's own. Run as a
module, this file is the fresh process that loads every model again by the Auto classes and pipelines.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, pipeline, set_seed
from transformers.utils import logging

from hf_lecture_models.analysis.learning_curve import save_table
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.evaluation.strict_json import strict_json
from hf_lecture_models.hub.card import write_card
from hf_lecture_models.hub.facts import collect_facts, training_record, write_facts
from hf_lecture_models.io.files import staged_file
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.corpus import encode_corpus

RESULTS, TABLE = "results.json", "table.png"
# The parts of a corpus, as one calls their tokens.
_PARTS = {"train": "training", "validation": "validation", "test": "test"}
# Words of the validation text on which the best weights of a network are chosen; the table is of all of it. Where time
# is short, at most a twentieth of the tokens that the network learns from, so that choosing takes a tenth of its time.
_CHOOSING_WORDS, _LEAST_CHOOSING_WORDS, _CHOOSING_SHARE = 20_000, 1_000, 20
# Steps that tell how fast a network learns here, and the part of its time that is left for evaluation and saving.
_TRIAL_STEPS, _SPARE_TIME = 5, 0.2


@dataclass(frozen=True)
class Corpus:
    """Texts to learn from, texts that choose the best weights, and texts that choose nothing."""

    train: list[str]
    validation: list[str]
    test: list[str]


@dataclass(frozen=True)
class Scale:
    """What a network's recipe takes over from the size of the corpus; its other settings stay as they are.

    Attributes:
        length: the recipe's segments of text, so many times as long.
        threads: of the processor, at most.
    """

    hidden_size: int
    dropout: float
    epochs: float
    length: int = 1
    threads: int = 1


@dataclass(frozen=True)
class Result:
    """A model, what it took, and the recipe or arguments that made it."""

    model: Any
    seconds: float
    tokens: int
    recipe: dict[str, Any]


@dataclass(frozen=True)
class Ladder:
    """All that a run_comparison needs.

    Attributes:
        facts: what `results.json` begins with; "command" and "text" among them.
        data: of the model cards, as `collect_facts` takes it.
        unit: what a token is ("words", say).
        note: on what the settings of the networks were chosen; printed under the table.
        prompt, pairs: what the reloaded models complete and rank.
        scale: None leaves the recipes as they are.
        seconds: for each network at most, measured by the speed of a few steps; None: as its epochs take.
    """

    corpus: Corpus
    tokenizer: Any
    rungs: "list[Baseline]"
    facts: dict[str, Any]
    data: dict[str, Any]
    unit: str
    note: str
    prompt: str
    pairs: list[list[str]]
    licence: str = "apache-2.0"
    seed: int = 0
    scale: Scale | None = None
    seconds: float | None = None


Train = Callable[[Ladder, Path], Result]


@dataclass(frozen=True)
class Baseline:
    """One model of the ladder: the folder's name, the title on its card, and how it is trained."""

    name: str
    title: str
    train: Train

    @property
    def is_network(self) -> bool:
        """Whether it is trained step by step."""
        return getattr(self.train, "func", None) is train_network


def fit_ngram(ladder: Ladder, folder: Path, **options: Any) -> Result:
    """Estimate an n-gram model."""
    start = time.perf_counter()
    model = NGramForCausalLM.fit(ladder.corpus.train, ladder.tokenizer, **options)
    seconds = time.perf_counter() - start
    model.save_pretrained(folder)
    ladder.tokenizer.save_pretrained(folder)
    tokens = len(encode_corpus(ladder.tokenizer, ladder.corpus.train).ids) + len(ladder.corpus.train)
    return Result(model, seconds, tokens, options)


def train_network(ladder: Ladder, folder: Path, recipe_name: str) -> Result:
    """Train a network by one of the package's own recipes; a run that was interrupted in `folder` goes on."""
    from hf_lecture_models.trainer.language_model import CausalLMRecipe, train_causal_lm
    from hf_lecture_models.trainer.recipe import load_recipe, packaged_recipe

    begun = folder / "recipe.yaml"
    source = begun if begun.exists() else packaged_recipe(recipe_name)
    recipe = load_recipe(source, {"seed": ladder.seed}, recipe_class=CausalLMRecipe)
    if ladder.scale is not None and not begun.exists():
        recipe = _scaled(recipe, ladder.scale)
    set_seed(recipe.seed)
    ids = {name: getattr(ladder.tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    config = AutoConfig.for_model(vocab_size=len(ladder.tokenizer), **ids, **recipe.model)
    model = AutoModelForCausalLM.from_config(config)
    if ladder.seconds is not None and not begun.exists():
        recipe = _affordable(recipe, model, ladder, ladder.seconds)
    choosing = _choosing_texts(ladder.corpus.validation, recipe)
    result = train_causal_lm(
        model, ladder.tokenizer, ladder.corpus.train, choosing, folder, recipe, resume=begun.exists()
    )
    if result.stopped.startswith("SIG"):
        raise KeyboardInterrupt
    return Result(AutoModelForCausalLM.from_pretrained(folder), result.seconds, result.tokens, asdict(recipe))


def _choosing_texts(texts: list[str], recipe: Any) -> list[str]:
    words = _CHOOSING_WORDS
    if recipe.max_steps:
        words = min(words, recipe.max_steps * recipe.batch_size * recipe.sequence_length // _CHOOSING_SHARE)
    return _first_words(texts, max(_LEAST_CHOOSING_WORDS, words))


def _scaled(recipe: Any, scale: Scale) -> Any:
    """The recipe at another size: inner widths in proportion, and wider networks learn in smaller steps."""
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


def _affordable(recipe: Any, model: Any, ladder: Ladder, seconds: float) -> Any:
    """The recipe with no more steps than fit into the time, and its schedule cut to them."""
    from hf_lecture_models.trainer.language_model import make_batches

    epoch = make_batches(ladder.tokenizer, ladder.corpus.train, recipe).steps_per_epoch
    planned = round(recipe.epochs * epoch)
    steps = max(1, min(planned, int((1 - _SPARE_TIME) * seconds * _steps_per_second(recipe, model, ladder))))
    if steps < planned:
        print(
            f"  the time is enough for {steps:,} of {planned:,} steps: {steps / epoch:.2f} passes over the text",
            flush=True,
        )
    every = -(-steps // max(5, min(12, round(recipe.epochs))))
    return replace(recipe, max_steps=steps, evaluate_every=every, warmup_steps=min(recipe.warmup_steps, steps // 5))


def _steps_per_second(recipe: Any, model: Any, ladder: Ladder) -> float:
    """Measured on a copy of the model; the number of threads that was faster, one or all, stays set."""
    from hf_lecture_models.trainer.language_model import train_causal_lm

    # A few texts are enough for a few steps.
    sample = _first_words(ladder.corpus.train, (_TRIAL_STEPS + 1) * recipe.batch_size * recipe.sequence_length)
    trial = replace(recipe, max_steps=_TRIAL_STEPS, warmup_steps=0, save_every=2 * _TRIAL_STEPS)
    speeds = {}
    for threads in sorted({1, torch.get_num_threads()}):
        torch.set_num_threads(threads)
        with TemporaryDirectory() as folder:
            result = train_causal_lm(deepcopy(model), ladder.tokenizer, sample, None, folder, trial, quiet=True)
        if result.stopped:
            raise KeyboardInterrupt
        speeds[threads] = result.step * result.tokens_per_second / result.tokens
    # On a busy machine threads wait for each other, and one alone is faster.
    torch.set_num_threads(max(speeds, key=speeds.__getitem__))
    return max(speeds.values())


def _first_words(texts: list[str], words: int) -> list[str]:
    """The first texts that hold so many words; see `size_of`."""
    found = 0
    for number, text in enumerate(texts, start=1):
        found += size_of(text)
        if found >= words:
            return texts[:number]
    return texts


def size_of(text: str) -> int:
    """Words; of a text without white space, characters.

    >>> size_of("a cat"), size_of("一只猫")
    (2, 3)
    """
    words = text.split()
    return len(words) if len(words) > 1 else len(text)


def make_rungs(order: int = 3) -> list[Baseline]:
    """The ladder, from the bottom; `order` is the longer n-gram's."""
    name = "trigram" if order == 3 else f"{order}-gram"
    ngram = partial(fit_ngram, order=order, smoothing="modified_kneser_ney")
    return [
        Baseline("unigram", "Unigram, add-one", partial(fit_ngram, order=1, smoothing="add_alpha", alpha=1.0)),
        Baseline(name, f"{name.capitalize()}, modified Kneser-Ney", ngram),
        Baseline("feed_forward", "Feed-forward", partial(train_network, recipe_name="quickstart_feed_forward")),
        Baseline("rnn", "Elman network", partial(train_network, recipe_name="quickstart_rnn")),
        Baseline("lstm", "LSTM", partial(train_network, recipe_name="quickstart_lstm")),
        Baseline("self_attention", "Self-attention", partial(train_network, recipe_name="quickstart_self_attention")),
    ]


def run_comparison(ladder: Ladder, folder: Path, progress: Path | None = None) -> dict[str, Any]:
    """Train, measure, save, draw and reload every model into `folder`, and return what `results.json` then holds.

    With a file for the `progress`, a run_comparison that was interrupted goes on from the models that it finished.
    """
    start = time.perf_counter()
    logging.disable_progress_bar()
    results: dict[str, Any] = {**ladder.facts, **_circumstances(), **_describe(ladder)}
    print(headline(results), flush=True)
    before = _read_progress(progress)
    rows = before["models"]
    for rung in ladder.rungs[len(rows) :]:
        with _few_threads(1 if ladder.scale is None else ladder.scale.threads):
            rows.append(_climb(rung, ladder, folder, results))
        if progress is not None:
            write_json(progress, {"models": rows, "seconds": before["seconds"] + time.perf_counter() - start})
    results["models"] = rows
    columns, cells = _table(rows)
    results["note"] = ladder.note
    print(f"\n{_as_text(columns, cells)}\n\n{ladder.note}", flush=True)
    save_table(columns, cells, folder / TABLE, title=headline(results))
    print("\nthe same models, loaded again in a fresh process:", flush=True)
    results["reloaded"] = _in_fresh_process(ladder, folder)
    print(_as_sentences(results["reloaded"]))
    results["seconds"] = before["seconds"] + time.perf_counter() - start
    write_json(folder / RESULTS, results)
    return results


def _read_progress(progress: Path | None) -> dict[str, Any]:
    if progress is None or not progress.exists():
        return {"models": [], "seconds": 0.0}
    found = json.loads(progress.read_text(encoding="utf-8"))
    print(f"finished before: {', '.join(row['title'] for row in found['models'])}")
    return found


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write strict JSON, beside and renamed."""
    with staged_file(path) as stage:
        stage.write_text(strict_json(value, indent=2) + "\n", encoding="utf-8")


@contextmanager
def _few_threads(most: int) -> Iterator[None]:
    # Small matrices gain nothing from a second thread, and on a busy machine threads that wait for each other make
    # training ten times slower.
    threads = torch.get_num_threads()
    torch.set_num_threads(min(threads, most))
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _climb(rung: Baseline, ladder: Ladder, stage: Path, results: dict[str, Any]) -> dict[str, Any]:
    print(f"\n{rung.title}", flush=True)
    folder = stage / rung.name
    trained = rung.train(ladder, folder)
    # As one stream, the way the networks were trained; an n-gram's figures are the same either way.
    measures = {
        part: evaluate_language_model(trained.model, ladder.tokenizer, getattr(ladder.corpus, part), stream=True)
        for part in ("validation", "test")
    }
    row = {
        "name": rung.name,
        "title": rung.title,
        "parameters": _count_parameters(trained.model),
        "seconds": trained.seconds,
        "tokens": trained.tokens,
        "tokens_per_second": trained.tokens / trained.seconds,
        "threads": torch.get_num_threads(),
        **measures,
    }
    facts = collect_facts(
        trained.model,
        ladder.tokenizer,
        measures["test"],
        name=f"{rung.title}, on {ladder.data['name']}",
        data={**ladder.data, "source": results["text"]},
        recipe=trained.recipe | {"tokenizer": results["tokenizer"]},
        training=_training(folder) or {key: row[key] for key in ("tokens", "seconds", "tokens_per_second")},
        command=results["command"],
        licence=ladder.licence,
    )
    write_facts(folder, facts)
    write_card(folder, facts)
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    (folder / "run.lock").unlink(missing_ok=True)
    return row


def _training(folder: Path) -> dict[str, Any]:
    """What the trainer recorded of a network; {} for an n-gram."""
    path = folder / "training.json"
    return training_record(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _count_parameters(model: Any) -> int:
    """Numbers that training found: weights, or an n-gram's stored probabilities and back-off weights."""
    return model.num_parameters() or sum(b.numel() for b in model.buffers() if b.is_floating_point())


def check_packages(command: str) -> None:
    """Raise ImportError, naming the extra to install, where a package is missing that `command` needs."""
    missing = [name for name in ("accelerate", "matplotlib") if find_spec(name) is None]
    if missing:
        raise ImportError(f"{command} needs {' and '.join(missing)}: pip install 'hf-lecture-models[train]'")


def check_output(folder: Path, command: str) -> None:
    """Refuse a folder that holds anything but the results of an earlier run of `command`.

    Raises:
        FileExistsError: it does.
    """
    if folder.exists() and not (folder.is_dir() and (_is_ours(folder, command) or not any(folder.iterdir()))):
        raise FileExistsError(f"{folder} is there already and not from a {command}; name another with --output")


def _is_ours(folder: Path, command: str) -> bool:
    try:
        return f"hf-lecture {command}" in json.loads((folder / RESULTS).read_text(encoding="utf-8"))["command"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _circumstances() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("hf-lecture-models", "torch", "transformers")},
        "machine": platform.machine(),
    }


def _describe(ladder: Ladder) -> dict[str, Any]:
    sizes = {}
    for part in _PARTS:
        texts = getattr(ladder.corpus, part)
        tokens = len(encode_corpus(ladder.tokenizer, texts).ids)
        sizes[part] = {"texts": len(texts), "words": sum(map(len, map(str.split, texts))), "tokens": tokens}
    tokenizer = ladder.tokenizer
    return {"corpus": sizes, "unit": ladder.unit, "vocab_size": len(tokenizer), "unk_token": tokenizer.unk_token}


def headline(results: dict[str, Any]) -> str:
    """The text and its size, in one line."""
    sizes = [f"{results['corpus'][part]['tokens']:,} {use} {results['unit']}" for part, use in _PARTS.items()]
    return f"{results['title']}: {', '.join(sizes)}, vocabulary of {results['vocab_size']:,}"


def _table(models: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    columns = ["model", "parameters", "seconds", "tokens/s", "validation perplexity", "test perplexity"]
    rows = [
        [
            row["title"],
            f"{row['parameters']:,}",
            f"{row['seconds']:.2f}",
            f"{row['tokens_per_second']:,.0f}",
            f"{row['validation']['perplexity']:.1f}",
            f"{row['test']['perplexity']:.1f}",
            f"{row['test']['bits_per_byte']:.3f}",
        ]
        for row in models
    ]
    return [*columns, "bits per byte (test)"], rows


def _as_text(columns: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    lines = [[f"{name:<{widths[0]}}", *map(str.rjust, rest, widths[1:])] for name, *rest in [columns, *rows]]
    return "\n".join("  ".join(line) for line in [lines[0], ["-" * width for width in widths], *lines[1:]])


def _in_fresh_process(ladder: Ladder, folder: Path) -> dict[str, Any]:
    folders = {rung.name: str(folder.absolute() / rung.name) for rung in ladder.rungs}
    task = {"folders": folders, "prompt": ladder.prompt, "pairs": ladder.pairs}
    command = [sys.executable, "-m", "hf_lecture_models.ladder"]
    done = subprocess.run(
        command, input=json.dumps(task), capture_output=True, text=True, encoding="utf-8", env=_child_environment()
    )
    if done.returncode:
        raise RuntimeError(f"the saved models could not be used in a fresh process:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _child_environment() -> dict[str, str]:
    return {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"}


def use_saved_models(folders: dict[str, str], prompt: str, pairs: list[list[str]]) -> dict[str, Any]:
    """Load every model; complete the prompt and rank each of the pairs with it."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    found: dict[str, Any] = {}
    ranking: Any = "sentence-ranking"  # the stubs of pipeline() list the library's own tasks only
    for name, folder in folders.items():
        model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
        writer = pipeline("text-generation", model=model, tokenizer=tokenizer)
        set_seed(0)
        never = None if tokenizer.unk_token_id is None else [tokenizer.unk_token_id]
        written = writer(prompt, max_new_tokens=20, do_sample=True, suppress_tokens=never)
        found[name] = {
            "class": type(model).__name__,
            "completion": written[0]["generated_text"],
            "rankings": pipeline(ranking, model=folder)(pairs) if pairs else [],
        }
    return found


def _as_sentences(found: dict[str, Any]) -> str:
    lines = []
    for name, result in found.items():
        lines.append(f"  {name}: {result['completion']}")
        for better, worse in result["rankings"]:
            equal = "  (equal)" if better["log_prob"] == worse["log_prob"] else ""
            lines.append(f"    {better['log_prob']:9.2f}  {better['sequence']}")
            lines.append(f"    {worse['log_prob']:9.2f}  {worse['sequence']}{equal}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(strict_json(use_saved_models(**json.loads(sys.stdin.read()))))
