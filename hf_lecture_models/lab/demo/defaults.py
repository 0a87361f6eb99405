# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The models of `hf-lecture demo` without arguments: recipes that contain their data, trained once and kept.

Each model has a folder in the user's cache (`HF_HOME`, or huggingface_hub's default below `XDG_CACHE_HOME`). The
folder's name has the version of this package and a checksum of the recipe, so another version or recipe is trained
again.
"""

import hashlib
import io
import runpy
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import torch
from huggingface_hub import constants

from hf_lecture_models.io.files import check_writable, staged_folder
from hf_lecture_models.io.installed_folders import training_folder
from hf_lecture_models.io.progress import no_progress
from hf_lecture_models.io.runs import raise_signal
from hf_lecture_models.tasks.core.main import train_from_command
from hf_lecture_models.tasks.registry import TASKS
from hf_lecture_models.version import __version__

PACKAGES = {
    "accelerate": "accelerate",
    "evaluate": "evaluate",
    "PIL": "pillow",
    "sacrebleu": "sacrebleu",
    "sklearn": "scikit-learn",
}
"""The packages that training and measuring these models need, by the names of their modules."""
N_GRAM = "ngram"
"""In place of a task's name: an n-gram, which `training/fit_ngram.py` estimates."""


class DefaultModel(NamedTuple):
    """A model of the page.

    Attributes:
        name: its name on the page, and the last part of its folder.
        recipe: the name of a recipe in `training/recipes` that needs no files.
        task: the name of the recipe's task in `TASKS`, or `N_GRAM`.
    """

    name: str
    recipe: str
    task: str


DEFAULT_MODELS = (
    DefaultModel("trigram", "ngram", N_GRAM),
    DefaultModel("lstm", "recurrent_tiny", "causal_lm"),
    DefaultModel("bag_of_words", "bag_of_words_reviews_tiny", "text_classification"),
    DefaultModel("elmo_tagger", "elmo_tagger_tiny", "token_classification"),
    DefaultModel("bert_masked", "bert_tiny", "masked_lm"),
    DefaultModel("bert_answers", "bert_squad_tiny", "question_answering"),
    DefaultModel("translator", "recurrent_seq2seq_tiny", "translation"),
    DefaultModel("vit", "vit_tiny", "image_classification"),
)
"""Together they fill all tabs of the page but those of captions and of pen strokes."""


def default_models(models: Sequence[DefaultModel] = DEFAULT_MODELS) -> list[str]:
    """Return the folders of the page's own models, after training those that the cache lacks.

    What is trained, where it is kept and how long each model took is printed to standard error. A folder appears when
    its model is whole: a run that is interrupted leaves the models that were finished, and the next one goes on.

    Raises:
        ImportError: a model has to be trained, and a package is missing.
        OSError: the cache cannot be written.
        ValueError, FloatingPointError: a training failed.
        KeyboardInterrupt, SystemExit: a signal stopped a training.
    """
    folders = {model: cached_folder(model) for model in models}
    missing = [model for model, folder in folders.items() if not (folder / "config.json").is_file()]
    kept = cache_folder()
    if missing:
        _check_packages()
        _check_cache(folders[missing[0]])
        print(
            f"hf-lecture demo: no model is named, so {len(missing)} small ones are trained, in about a minute, and "
            f"kept in {kept} for the next time",
            file=sys.stderr,
        )
    for number, model in enumerate(missing, 1):
        start = time.perf_counter()
        with staged_folder(folders[model]) as stage, _one_quiet_thread():
            _train(model, stage)
        seconds = time.perf_counter() - start
        print(f"  {number}/{len(missing)} {model.name} ({model.recipe}.yaml): {seconds:.1f} s", file=sys.stderr)
    print(
        f"hf-lecture demo: the models in {kept} know the few sentences or images of their recipes; another model: "
        "hf-lecture demo MODEL",
        file=sys.stderr,
    )
    return [str(folder) for folder in folders.values()]


def cache_folder() -> Path:
    """Return the folder of the page's own models in the user's cache, which need not exist."""
    return Path(constants.HF_HOME) / "hf_lecture_models" / "demo"


def cached_folder(model: DefaultModel) -> Path:
    """Return the folder of a model: the version and the recipe's checksum, then the model's name.

    Raises:
        OSError: the recipe cannot be read.
    """
    checksum = hashlib.sha256(_recipe(model).read_bytes()).hexdigest()[:8]
    return cache_folder() / f"{__version__}-{checksum}" / model.name


def _recipe(model: DefaultModel) -> Path:
    return training_folder() / "recipes" / f"{model.recipe}.yaml"


def _check_packages() -> None:
    missing = [name for module, name in PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise ImportError(
            f"demo without a model trains small ones, which needs {', '.join(missing)}: "
            "pip install 'hf-lecture-models[demo,train]', or name a model"
        )


def _check_cache(folder: Path) -> None:
    try:
        check_writable(folder)
    except OSError as error:
        raise type(error)(f"{error}; let HF_HOME name a folder for the small models, or name a model") from None


@contextmanager
def _one_quiet_thread() -> Iterator[None]:
    """Within the block torch has one thread, as small matrices need, and a training prints nothing."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with no_progress(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            yield
    finally:
        torch.set_num_threads(threads)


def _train(model: DefaultModel, folder: Path) -> None:
    arguments = [str(_recipe(model)), "--output_dir", str(folder)]
    if model.task == N_GRAM:
        runpy.run_path(str(training_folder() / "fit_ngram.py"))["main"](arguments)
        return
    raise_signal(train_from_command(TASKS[model.task], arguments).signal)
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
