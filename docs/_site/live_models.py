# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train the models of the live pages and write their weights: `python -m docs._site.live_models BUILD`.

The text is `docs/live/tales.txt`, tales that were written for these pages. Where the folder that `HF_LECTURE_DATA`
names has `tinyshakespeare/input.txt`, the page `next_word` can be switched to models of that text. The weights go to
`BUILD/static/live/weights`, where the site's settings look for them. `BUILD/live-cache` keeps them by a checksum of the
package's sources, the recipes, the texts and the versions, so a second build trains nothing.
"""

import argparse
import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.data.files import DATA_FOLDER
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.io.files import staged_folder, write_file
from hf_lecture_models.io.progress import hide_other_bars
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.io.runs import raise_signal
from hf_lecture_models.lab.comparison.corpus import split_lines
from hf_lecture_models.lab.comparison.python_reference import Corpus
from hf_lecture_models.lab.comparison.run import check_packages
from hf_lecture_models.lab.live.weights import LiveModel, weights_script
from hf_lecture_models.tasks.core.factories import make_model
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe, train_causal_lm

ROOT = Path(__file__).resolve().parents[2]
TALES = ROOT / "docs" / "live" / "tales.txt"
RECIPES = Path(__file__).parent / "live_recipes"
TRIGRAM, PRUNED_TRIGRAM = "trigram", "pruned_trigram"
"""In place of a recipe's name: a trigram, which is counted; one without the bigrams and trigrams that occurred once."""


@dataclass(frozen=True)
class PageModels:
    """The models of a page.

    Attributes:
        recipes: the recipe of each model, by the model's name on the page.
        examples: texts for the reader to begin with; the page opens with the first.
        text: what the models have read, in one word.
        source: the same in a sentence's end.
    """

    recipes: Mapping[str, str]
    examples: Sequence[str]
    text: str = "tales"
    source: str = "tales that were written for this page"


PAGE_MODELS = {
    "next_word": PageModels(
        {"Trigram": TRIGRAM, "LSTM": "lstm", "Self-attention": "self_attention"},
        (
            "Once there lived a girl ",
            "Over the hill and under the hill, through the wood and past the ",
            '"What do you want for yourself?" the king asked ',
            '"Good evening, my child," said the blind man. "Where do ',
            "And if the bell has ",
        ),
    ),
    "attention": PageModels(
        {"Self-attention": "attention"},
        (
            "She had white hair and a white ",
            "Once there lived a girl ",
            "Over the hill and under the ",
            "One, two, three, four, five, six, ",
        ),
    ),
}

SHAKESPEARE = "next_word_shakespeare"
"""The script with the weights of the second text of the page `next_word`."""
SHAKESPEARE_MODELS = PageModels(
    {"Trigram": PRUNED_TRIGRAM, "LSTM": "lstm_shakespeare", "Self-attention": "self_attention_shakespeare"},
    (
        "Good morrow, ",
        "My lord, I will ",
        "What is thy ",
        "The king is ",
        "O, that I were ",
    ),
    text="Shakespeare",
    source="speeches of Shakespeare's plays (the file tiny Shakespeare of the repository karpathy/char-rnn)",
)


def read_tales() -> Corpus:
    """Return the paragraphs of the tales: of every ten, one for validation and one for the test."""
    blocks = TALES.read_text(encoding="utf-8").strip().split("\n\n")
    paragraphs = [" ".join(block.split("\n")) for block in blocks if not block.startswith("#")]
    parts, _ = split_lines(paragraphs, ["validation", "test"])
    return Corpus(**parts)


def shakespeare_file() -> Path | None:
    """Return the file of Shakespeare's speeches, or None where it is not at hand."""
    folder = os.environ.get(DATA_FOLDER)
    file = Path(folder or "", "tinyshakespeare", "input.txt")
    return file if folder and file.is_file() else None


def read_shakespeare(file: Path) -> Corpus:
    """Return the speeches without the names of who speaks: of every ten, one for validation and one for the test."""
    blocks = [block.partition(":\n")[2] for block in file.read_text(encoding="utf-8").split("\n\n")]
    parts, _ = split_lines([" ".join(block.split()) for block in blocks if block.strip()], ["validation", "test"])
    return Corpus(**parts)


def make_tokenizer(corpus: Corpus) -> Any:
    """Return the tokenizer of all models: words in small letters, punctuation marks as words of their own.

    A word that occurs once counts as unknown, so that the models learn about unknown words. There are 3,000 at most, so
    that the weights stay small.
    """
    return WordTokenizer.train(
        corpus.train, min_count=2, vocab_size=3000, lower_case=True, split_punctuation=True, progress=False
    )


def make_network(recipe_name: str, tokenizer: Any) -> tuple[Any, CausalLMRecipe]:
    """Return a network with new weights, and its recipe."""
    recipe = load_recipe(RECIPES / f"{recipe_name}.yaml", {}, recipe_class=CausalLMRecipe)
    return make_model(AutoModelForCausalLM, recipe.model, tokenizer, recipe.seed), recipe


def train_model(recipe_name: str, corpus: Corpus, tokenizer: Any, steps: int = 0) -> Any:
    """Return a trained model, its numbers rounded to those of 16 bits that the page gets.

    Args:
        recipe_name: a file of `live_recipes`, or `TRIGRAM` or `PRUNED_TRIGRAM`.
        steps: of training, in place of the recipe's.

    Raises:
        KeyboardInterrupt, SystemExit: training was stopped by a signal.
    """
    if recipe_name in (TRIGRAM, PRUNED_TRIGRAM):
        prune = [0, 1, 1] if recipe_name == PRUNED_TRIGRAM else None
        return NGramForCausalLM.fit(corpus.train, tokenizer, order=3, smoothing="modified_kneser_ney", prune=prune)
    model, recipe = make_network(recipe_name, tokenizer)
    if steps:
        recipe = replace(recipe, max_steps=steps, warmup_steps=min(recipe.warmup_steps, steps // 2))
    with TemporaryDirectory() as folder:
        result = train_causal_lm(model, tokenizer, corpus.train, corpus.validation, folder, recipe, quiet=True)
        raise_signal(result.stopped)
        return AutoModelForCausalLM.from_pretrained(folder).half().float().eval()


def make_scripts(steps: int = 0) -> dict[str, str]:
    """Return the scripts with the weights, by their names, after training the models one after the other."""
    corpus = read_tales()
    scripts = {name: train_page(page, corpus, steps) for name, page in PAGE_MODELS.items() if name != "next_word"}
    file = shakespeare_file()
    texts = {"next_word": "Tales", SHAKESPEARE: "Shakespeare"} if file else {}
    # What the page offers to choose from, where there is more than one text.
    choices = [{"title": title, "file": f"{name}.js"} for name, title in texts.items()]
    scripts["next_word"] = train_page(PAGE_MODELS["next_word"], corpus, steps, file="next_word.js", texts=choices)
    if file:
        corpus = read_shakespeare(file)
        scripts[SHAKESPEARE] = train_page(SHAKESPEARE_MODELS, corpus, steps, file=f"{SHAKESPEARE}.js", texts=choices)
    return scripts


def train_page(page: PageModels, corpus: Corpus, steps: int, **extra: Any) -> str:
    """Return the script with the weights of a page and `extra` entries, after training its models."""
    tokenizer = make_tokenizer(corpus)
    models = {title: train_model(recipe, corpus, tokenizer, steps) for title, recipe in page.recipes.items()}
    return page_script(page, models, corpus, tokenizer, **extra)


def page_script(page: PageModels, models: Mapping[str, Any], corpus: Corpus, tokenizer: Any, **extra: Any) -> str:
    """Return the script with the weights of a page, what it says about the models, and `extra` entries."""
    words = sum(len(text.split()) for text in corpus.train)
    live = []
    for title, model in models.items():
        found = evaluate_language_model(model, tokenizer, corpus.test, stream=True)["perplexity"]
        seen = f"{words:,} words of {page.text}; perplexity {found:.1f} on paragraphs that it has not seen"
        live.append(LiveModel(title, seen, model, tokenizer))
    about = (
        f"The models have read {page.source}. They know {len(tokenizer) - 4:,} words and "
        "marks; each other word is <unk> to them. Capitals are small letters to them."
    )
    return weights_script(live, half=True, examples=list(page.examples), about=about, **extra)


def cache_key(steps: int) -> str:
    """Return a checksum of all that the weights depend on."""
    found = hashlib.sha256()
    files = [*(ROOT / "hf_lecture_models").rglob("*.py"), *RECIPES.iterdir(), TALES, Path(__file__)]
    for path in sorted(path for path in files if path.is_file()):
        content = path.read_bytes()
        found.update(f"{path.relative_to(ROOT).as_posix()} {len(content)}\n".encode() + content)
    if shakespeare := shakespeare_file():
        found.update(shakespeare.read_bytes())
    packages = ("torch", "transformers", "tokenizers", "numpy")
    found.update(f"{steps} {[version(name) for name in packages]}".encode())
    return found.hexdigest()[:16]


def write_weights(build: Path, steps: int = 0) -> list[Path]:
    """Write the weights of all pages into a build folder, and return the files; train them if the cache lacks them.

    What is kept appears when everything is trained, so that an interrupted training leaves nothing.

    Raises:
        ImportError: models have to be trained, and the extra `train` is not installed.
    """
    kept = build / "live-cache" / cache_key(steps)
    if not kept.is_dir():
        check_packages("the site")
        hide_other_bars()
        start = time.perf_counter()
        print("training the models of the live pages, which takes a minute or two", flush=True)
        with staged_folder(kept) as stage:
            for name, script in make_scripts(steps).items():
                (stage / f"{name}.js").write_text(script, encoding="utf-8", newline="\n")
        print(f"trained in {time.perf_counter() - start:.0f} s; kept in {kept}")
    folder = build / "static" / "live" / "weights"
    return [write_file(folder / path.name, path.read_text(encoding="utf-8")) for path in sorted(kept.glob("*.js"))]


def main() -> None:
    """Write the weights into the build folder that is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=Path, help="the build folder, docs/build")
    parser.add_argument("--steps", type=int, default=0, help="steps of training, to try the site; 0: the recipes'")
    options = parser.parse_args()
    # Small matrices gain nothing from a second thread.
    torch.set_num_threads(1)
    for path in write_weights(options.build, options.steps):
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
