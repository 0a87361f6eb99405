# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture quickstart`: the ladder of language models, trained and compared on text that comes with Python.

The text is the language reference in the interpreter's own `pydoc_data.topics`, so it needs no download, and the
figures depend on the version of Python. Run as a module on the finished folder, this file is the fresh process that
loads every model again by the Auto classes and pipelines.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, pipeline, set_seed
from transformers.utils import logging

from hf_lecture_models.analysis.learning_curve import save_table
from hf_lecture_models.base.files import staged_folder
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.evaluation.strict_json import strict_json
from hf_lecture_models.hub.card import collect_facts, write_card
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.tokenization.word import WordTokenizer

# The pipeline joins prompt and completion as they are, so the space between two words stands in the prompt.
PROMPT = "The value of the "
# Slides R:180-190 and Y:10-51, and one pair of the kind of sentences that the models have read.
PAIRS = [
    ["The parcel was secured by grey tape .", "The parcel was secured by great ape ."],
    ["he was a lighthouse keeper", "he was a light housekeeper"],
    ["I do not like to teach early in the morning", "I do not like teaching early in the morning"],
    ["The value returned by the function is ignored .", "The value returned by function the is ignored ."],
]
RESULTS = "results.json"
# A word that occurs once in the training text is unknown, so that the models learn what unknown words are like.
MIN_COUNT = 2
# With --tiny: less text, and smaller networks for a shorter time.
TINY_PARAGRAPHS = 200
TINY_RECIPE = {"epochs": 8, "warmup_steps": 5, "model.hidden_size": 48}

_TOKEN = re.compile(r"\w+(?:[-'’.]\w+)*|\.\.\.|[^\w\s]")
_SENTENCE_END = re.compile(r"(?<=[.?!]) (?=[A-Z‘“(])")


@dataclass(frozen=True)
class Corpus:
    """Sentences; each paragraph lies wholly in one part, and none occurs twice."""

    train: list[str]
    validation: list[str]
    test: list[str]


@dataclass(frozen=True)
class Trained:
    """A model, what it took, and the recipe or arguments that made it."""

    model: Any
    seconds: float
    tokens: int
    recipe: dict[str, Any]


Train = Callable[[Corpus, Any, Path, dict[str, Any]], Trained]


def fit_ngram(corpus: Corpus, tokenizer: Any, folder: Path, overrides: dict[str, Any], **options: Any) -> Trained:
    """Estimate an n-gram model; `overrides` are of training by gradients and do not concern it."""
    start = time.perf_counter()
    model = NGramForCausalLM.fit(corpus.train, tokenizer, **options)
    seconds = time.perf_counter() - start
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    tokens = len(encode_corpus(tokenizer, corpus.train).ids) + len(corpus.train)
    return Trained(model, seconds, tokens, {**options, "min_count": MIN_COUNT})


def train_network(corpus: Corpus, tokenizer: Any, folder: Path, overrides: dict[str, Any], recipe_name: str) -> Trained:
    """Train a network by one of the package's own recipes."""
    from hf_lecture_models.trainer.language_model import CausalLMRecipe, train_causal_lm
    from hf_lecture_models.trainer.recipe import load_recipe, packaged_recipe

    recipe = load_recipe(packaged_recipe(recipe_name), overrides, recipe_class=CausalLMRecipe)
    set_seed(recipe.seed)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    config = AutoConfig.for_model(vocab_size=len(tokenizer), **ids, **recipe.model)
    model = AutoModelForCausalLM.from_config(config)
    result = train_causal_lm(model, tokenizer, corpus.train, corpus.validation, folder, recipe)
    if result.stopped.startswith("SIG"):
        raise KeyboardInterrupt
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    (folder / "run.lock").unlink(missing_ok=True)
    best = AutoModelForCausalLM.from_pretrained(folder)
    return Trained(best, result.seconds, result.tokens, asdict(recipe))


@dataclass(frozen=True)
class Rung:
    """One model of the ladder: the folder's name, the title on its card, and how it is trained."""

    name: str
    title: str
    train: Train


LADDER = [
    # Every word of the vocabulary occurs in the training text, <unk> too: a unigram needs no smoothing.
    Rung("unigram", "Unigram, maximum likelihood", partial(fit_ngram, order=1, smoothing="maximum_likelihood")),
    Rung("trigram", "Trigram, modified Kneser-Ney", partial(fit_ngram, order=3, smoothing="modified_kneser_ney")),
    Rung("rnn", "Elman network", partial(train_network, recipe_name="quickstart_rnn")),
    Rung("lstm", "LSTM", partial(train_network, recipe_name="quickstart_lstm")),
]


def run_quickstart(output: str | os.PathLike[str], tiny: bool = False, seed: int = 0) -> dict[str, Any]:
    """Train, measure, save, draw and reload every model of the ladder.

    Args:
        output: a new folder, or one that an earlier quickstart wrote. It appears when everything is done.
        tiny: less text and smaller networks.
        seed: of initial weights, dropout and the order of the data.

    Returns:
        What `results.json` holds.

    Raises:
        ImportError: the extra `train` is not installed.
        FileExistsError: the folder holds something else.
    """
    output = Path(output)
    _check_packages()
    if output.exists() and not (output.is_dir() and (_is_ours(output) or not any(output.iterdir()))):
        raise FileExistsError(f"{output} is there already and not from a quickstart; name another with --output")
    logging.disable_progress_bar()
    with staged_folder(output) as stage, _one_thread():
        results = _fill(stage, tiny, seed)
    print(f"\n{results['seconds']:.0f} s in all. {RESULTS}, table.png and the models are in {output}; for example")
    print(f"  echo 'The value of the' | hf-lecture generate {output / LADDER[-1].name} --sample")
    return results


def _fill(folder: Path, tiny: bool, seed: int) -> dict[str, Any]:
    start = time.perf_counter()
    corpus = python_reference(TINY_PARAGRAPHS if tiny else None)
    tokenizer = WordTokenizer.train(corpus.train, min_count=MIN_COUNT)
    results: dict[str, Any] = {"command": _command(tiny, seed), **_circumstances(), **_describe(corpus, tokenizer)}
    print(_headline(results), flush=True)
    overrides = {"seed": seed, **(TINY_RECIPE if tiny else {})}
    results["models"] = [_climb(rung, corpus, tokenizer, folder, overrides, results) for rung in LADDER]
    columns, rows = _table(results)
    print("\n" + _as_text(columns, rows), flush=True)
    save_table(columns, rows, folder / "table.png", title=_headline(results))
    print("\nthe same models, loaded again in a fresh process:", flush=True)
    results["reloaded"] = _in_fresh_process(folder)
    print(_as_sentences(results["reloaded"]))
    results["seconds"] = time.perf_counter() - start
    (folder / RESULTS).write_text(strict_json(results, indent=2) + "\n", encoding="utf-8")
    return results


@contextmanager
def _one_thread() -> Iterator[None]:
    # Matrices this small gain nothing from a second thread, and on a busy machine threads that wait for each other
    # make training ten times slower.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def python_reference(most_paragraphs: int | None = None) -> Corpus:
    """English prose from Python's language reference: sentences, with white space around punctuation marks.

    Paragraphs of code, grammar and tables are left out, and repeated ones, for a sentence of the training part must not
    stand in the others. Of every ten paragraphs one is for validation and one for the test.
    """
    from pydoc_data import topics

    paragraphs: dict[str, None] = {}
    for _, topic in sorted(topics.topics.items()):
        for block in topic.split("\n\n"):
            if paragraph := _prose(block):
                paragraphs[paragraph] = None
    parts: tuple[list[str], list[str], list[str]] = ([], [], [])
    for number, paragraph in enumerate(list(paragraphs)[:most_paragraphs]):
        parts[{8: 1, 9: 2}.get(number % 10, 0)].extend(_SENTENCE_END.split(paragraph))
    return Corpus(*parts)


def _prose(block: str) -> str:
    """The block as one line of space-separated tokens; empty if it is no English prose.

    >>> _prose("The *try* statement\\n   handles exceptions, or re-\\n   raises them.")
    'The try statement handles exceptions , or re-raises them .'
    >>> _prose(">>> x = 1")
    ''
    """
    if re.search(r">>>|::=|===|---|\*\*\*", block):
        return ""
    text = re.sub(r"(?<=\w)- (?=\w)", "-", " ".join(line.strip() for line in block.splitlines()))
    tokens = _TOKEN.findall(re.sub(r'[*"`]', "", text))
    words = sum(token[0].isalpha() for token in tokens)
    is_prose = len(tokens) >= 6 and words >= 0.75 * len(tokens) and tokens[-1] in ".?!:"
    return " ".join(tokens) if is_prose else ""


def _climb(
    rung: Rung, corpus: Corpus, tokenizer: Any, stage: Path, overrides: dict[str, Any], results: dict[str, Any]
) -> dict[str, Any]:
    print(f"\n{rung.title}", flush=True)
    folder = stage / rung.name
    trained = rung.train(corpus, tokenizer, folder, overrides)
    # As one stream, the way the networks were trained; an n-gram's figures are the same either way.
    measures = {
        part: evaluate_language_model(trained.model, tokenizer, getattr(corpus, part), stream=True)
        for part in ("validation", "test")
    }
    row = {
        "name": rung.name,
        "title": rung.title,
        "parameters": _count_parameters(trained.model),
        "seconds": trained.seconds,
        "tokens": trained.tokens,
        "tokens_per_second": trained.tokens / trained.seconds,
        **measures,
    }
    facts = collect_facts(
        trained.model,
        tokenizer,
        measures["validation"],
        name=f"{rung.title}, on Python's language reference",
        data={
            "name": "Python's language reference",
            "split": "validation",
            "licence": "psf-2.0",
            "source": results["text"],
        },
        recipe=trained.recipe,
        training={key: row[key] for key in ("parameters", "seconds", "tokens", "tokens_per_second")},
        command=results["command"],
    )
    write_card(folder, facts)
    return row


def _count_parameters(model: Any) -> int:
    """Numbers that training found: weights, or an n-gram's stored probabilities and back-off weights."""
    return model.num_parameters() or sum(b.numel() for b in model.buffers() if b.is_floating_point())


def _check_packages() -> None:
    missing = [name for name in ("accelerate", "matplotlib") if find_spec(name) is None]
    if missing:
        raise ImportError(f"quickstart needs {' and '.join(missing)}: pip install 'hf-lecture-models[train]'")


def _is_ours(folder: Path) -> bool:
    try:
        return "quickstart" in json.loads((folder / RESULTS).read_text(encoding="utf-8"))["command"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _command(tiny: bool, seed: int) -> str:
    return "hf-lecture quickstart" + (" --tiny" if tiny else "") + (f" --seed {seed}" if seed else "")


def _circumstances() -> dict[str, Any]:
    return {
        "text": f"pydoc_data.topics, Python {platform.python_version()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("hf-lecture-models", "torch", "transformers")},
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
    }


def _describe(corpus: Corpus, tokenizer: Any) -> dict[str, Any]:
    sizes = {
        part: {"texts": len(texts), "words": sum(map(len, map(str.split, texts)))}
        for part, texts in asdict(corpus).items()
    }
    return {"corpus": sizes, "vocab_size": len(tokenizer), "unk_token": tokenizer.unk_token, "min_count": MIN_COUNT}


def _headline(results: dict[str, Any]) -> str:
    words = {part: size["words"] for part, size in results["corpus"].items()}
    return (
        f"Python {results['python']}'s language reference: {words['train']:,} training words, "
        f"{words['validation']:,} validation words, vocabulary of {results['vocab_size']:,}"
    )


def _table(results: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    columns = ["model", "parameters", "seconds", "tokens/s", "validation perplexity", "bits per byte"]
    rows = [
        [
            row["title"],
            f"{row['parameters']:,}",
            f"{row['seconds']:.2f}",
            f"{row['tokens_per_second']:,.0f}",
            f"{row['validation']['perplexity']:.1f}",
            f"{row['validation']['bits_per_byte']:.3f}",
        ]
        for row in results["models"]
    ]
    return columns, rows


def _as_text(columns: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    lines = [[f"{name:<{widths[0]}}", *map(str.rjust, rest, widths[1:])] for name, *rest in [columns, *rows]]
    return "\n".join("  ".join(line) for line in [lines[0], ["-" * width for width in widths], *lines[1:]])


def _in_fresh_process(folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "hf_lecture_models.quickstart", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=_child_environment())
    if done.returncode:
        raise RuntimeError(f"the saved models could not be used in a fresh process:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _child_environment() -> dict[str, str]:
    return {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"}


def use_saved_models(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Load every model of a quickstart's folder; complete `PROMPT` and rank each of `PAIRS` with it."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    found: dict[str, Any] = {}
    ranking: Any = "sentence-ranking"  # the stubs of pipeline() list the library's own tasks only
    for rung in LADDER:
        place = str(Path(folder) / rung.name)
        model, tokenizer = AutoModelForCausalLM.from_pretrained(place), AutoTokenizer.from_pretrained(place)
        writer = pipeline("text-generation", model=model, tokenizer=tokenizer)
        set_seed(0)
        written = writer(PROMPT, max_new_tokens=20, do_sample=True, suppress_tokens=[tokenizer.unk_token_id])
        ranker = pipeline(ranking, model=place)
        found[rung.name] = {
            "class": type(model).__name__,
            "completion": written[0]["generated_text"],
            "rankings": ranker(PAIRS),
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
    print(strict_json(use_saved_models(sys.argv[1])))
