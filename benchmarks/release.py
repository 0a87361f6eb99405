# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Small trained models to begin with, ready to be published: a folder for each, with its card, and their checksums.

    python -m benchmarks.release OUT [NAME ...]          # all of them, or those that are named
    python -m benchmarks.release --list
    hf-lecture publish --all OUT NAMESPACE --dry-run

Each model is trained by a recipe, as `hf-lecture train` does it, in OUT/.work. The network weights that are too large
are then saved as bfloat16, n-grams with tables of 8 bits; the card's test results are those of the saved weights. No
folder is larger than 20 MB. Run the same command again after a stop: a finished model is kept, an unfinished training
goes on from its checkpoint. A model that fails does not stop the others; the last lines name it.

`OUT/checksums` has the SHA-256 of each file: `cd OUT && sha256sum -c checksums`.
"""

import hashlib
import resource
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
import yaml

from benchmarks.common import ROOT, new_parser, read_options
from hf_lecture_models.analysis.figures import save_learning_curve
from hf_lecture_models.cli.train import script_command
from hf_lecture_models.data.files import find_file
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.hub.card import LEARNING_CURVE, write_card
from hf_lecture_models.hub.facts import facts_of, facts_of_training, write_facts
from hf_lecture_models.io.files import staged_folder, write_file
from hf_lecture_models.io.installed_folders import training_folder
from hf_lecture_models.io.saved_json import read_fields
from hf_lecture_models.io.task_file import TASK_FILE, read_task_file
from hf_lecture_models.loading import be_quiet, load_model
from hf_lecture_models.tasks.core.task import recipe_of
from hf_lecture_models.tasks.registry import TASKS
from hf_lecture_models.tokenization.corpus import read_texts

MAX_BYTES = 20_000_000
WORK, CHECKSUMS = ".work", "checksums"
FILES = ("test_files", "validation_files", "train_files")
WIKITEXT_TEST = ("--test_files", "[wikitext-2/test.txt]")
TRIGRAM = "Modified Kneser-Ney trigram in 8 bits, WikiText-2"
CLASS_TRIGRAM = "Trigram of 200 classes of words in 8 bits, WikiText-2"
KEPT = ("recipe.yaml", "training.json", TASK_FILE)
"""What a training leaves beside the model and goes to the published folder."""


@dataclass(frozen=True)
class Release:
    """A model to publish.

    Attributes:
        name: of its folder.
        recipe: the name of its recipe in `training/recipes`.
        options: of the training, beside the recipe.
        weights: how the published weights are saved: "float32" as trained, "bfloat16", or "8 bits" (an n-gram).
        backbone: the name of the recipe whose model the training starts from; it is trained before.
    """

    name: str
    recipe: str
    options: tuple[str, ...] = ()
    weights: str = "float32"
    backbone: str = ""


RELEASES = (
    # With the trigrams that occur once, the published folder, code included, would be a little larger than 20 MB.
    Release("trigram", "ngram_wikitext2", ("--order", "3", "--prune", "[0, 0, 1]", "--name", TRIGRAM), "8 bits"),
    Release(
        "class_trigram", "ngram_wikitext2", ("--order", "3", "--classes", "200", "--name", CLASS_TRIGRAM), "8 bits"
    ),
    Release("lstm", "recurrent_wikitext2", WIKITEXT_TEST, "bfloat16"),
    Release("self_attention", "self_attention_bpe_wikitext2", WIKITEXT_TEST, "bfloat16"),
    Release("gpt1", "gpt1_wikitext2", WIKITEXT_TEST, "bfloat16"),
    Release("word2vec", "word2vec_wikitext2"),
    Release("elmo_tagger", "elmo_ewt", backbone="elmo_wikitext2"),
    Release("bag_of_words", "bag_of_words_sst3"),
    Release("lstm_classifier", "recurrent_sst3"),
    Release("translator", "transformer_multi30k", weights="bfloat16"),
    Release("vit", "vit_digits"),
)


def release_all(models: Sequence[Release], out: Path, max_steps: int | None = None) -> dict[str, str]:
    """Train, convert and save the models that `out` lacks, then write the checksums.

    Args:
        max_steps: of each network's training, to try the command; None: as in the recipes.

    Returns:
        The error of each model that failed, by its name.

    Raises:
        FileNotFoundError: data of a recipe are missing; nothing was trained.
    """
    check_data(models)
    failed = {}
    for number, model in enumerate(models, 1):
        if (out / model.name / "config.json").is_file():
            print(f"{number}/{len(models)} {model.name}: kept", flush=True)
            continue
        print(f"{number}/{len(models)} {model.name}: {_command(model)}", flush=True)
        before = _cpu_seconds()
        try:
            size = release_one(model, out, max_steps)
        except Exception as error:  # whatever it is, the other models do not depend on it
            failed[model.name] = " ".join(str(error).split()) or type(error).__name__
            print(f"  failed: {failed[model.name]}", flush=True)
            continue
        print(f"  {size:,} bytes, {_cpu_seconds() - before:,.0f} CPU seconds", flush=True)
    write_checksums(out)
    return failed


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def check_data(models: Sequence[Release]) -> None:
    """Raise a FileNotFoundError that names all files that the recipes read and nobody has."""
    missing = dict[str, None]()
    for model in models:
        for recipe in filter(None, (model.recipe, model.backbone)):
            fields = yaml.safe_load((ROOT / "training" / "recipes" / f"{recipe}.yaml").read_text(encoding="utf-8"))
            for name in (name for part in FILES for name in fields.get(part) or ()):
                try:
                    find_file(name)
                except FileNotFoundError:
                    missing[name] = None
    if missing:
        raise FileNotFoundError(
            f"these data are missing: {', '.join(missing)}; let HF_LECTURE_DATA name the folder that holds them (the "
            "recipes' comments say where they are from), or name models that need others"
        )


def release_one(model: Release, out: Path, max_steps: int | None = None) -> int:
    """Train one model, and save what is published; return the bytes of its folder.

    Raises:
        RuntimeError: the training failed.
        ValueError: the folder is larger than `MAX_BYTES`.
    """
    work, options = out / WORK, list(model.options)
    if model.backbone:
        options += ["--from_pretrained", str(train(model.backbone, [], work / model.backbone, max_steps))]
    trained = train(model.recipe, options, work / model.name, max_steps)
    with staged_folder(out / model.name) as stage:
        save_release(model, trained, stage)
        size = sum(path.stat().st_size for path in stage.rglob("*") if path.is_file())
        if size > MAX_BYTES:
            raise ValueError(f"its folder has {size:,} bytes, more than {MAX_BYTES:,}: save it in another form")
    shutil.rmtree(trained)
    return size


def train(recipe: str, options: Sequence[str], folder: Path, max_steps: int | None = None) -> Path:
    """Run a recipe as `hf-lecture train` does, and return its folder; a training that was stopped goes on.

    Raises:
        RuntimeError: the training failed, with the last line that it printed.
    """
    script, *arguments = script_command([recipe, *options, "--output_dir", str(folder)], training_folder())
    if Path(script).stem != "fit_ngram":
        arguments.append("--resume")
        arguments += ["--max_steps", str(max_steps)] if max_steps else []
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = folder.parent / f"{folder.name}.log"
    with log.open("wb") as stream:
        done = subprocess.run([sys.executable, script, *arguments], stdout=stream, stderr=stream)
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    if done.returncode:
        raise RuntimeError(f"its training ended with status {done.returncode}: {(lines or [''])[-1]} ({log})")
    return folder


def save_release(release: Release, trained: Path, stage: Path) -> None:
    """Save a trained model in its published form, with its records, its test results, facts and card."""
    auto_class = getattr(transformers, read_task_file(trained).get("auto_class") or "AutoModelForCausalLM")
    model, processor = load_model(trained, auto_class)
    facts = facts_of(trained, model, processor)
    if release.weights == "8 bits":
        model = model.quantise(8)
    elif release.weights == "bfloat16":
        model = model.to(torch.bfloat16)
    for part in (model, processor):
        part.save_pretrained(stage)
    for name in KEPT:
        if (trained / name).is_file():
            shutil.copyfile(trained / name, stage / name)
    if release.weights != "float32":
        facts |= measured(trained, stage, facts, auto_class)
    facts |= {"licence": facts.get("licence") or "apache-2.0", "command": _command(release)}
    write_facts(stage, facts)
    if (stage / "training.json").is_file():
        save_learning_curve(read_fields(stage / "training.json")["history"], stage / LEARNING_CURVE)
    write_card(stage, facts)


def _command(release: Release) -> str:
    return shlex.join(["hf-lecture", "train", release.recipe, *release.options])


def measured(trained: Path, stage: Path, facts: dict[str, Any], auto_class: Any) -> dict[str, Any]:
    """Return the facts of the saved weights, loaded again: their number, and their results on the recipe's test data.

    Models without test data keep the results of the training.
    """
    model, processor = load_model(stage, auto_class)
    recipe = yaml.safe_load((trained / "recipe.yaml").read_text(encoding="utf-8"))
    if not (stage / TASK_FILE).is_file():
        texts = [text for name in recipe["test_files"] for text in read_texts(find_file(name))]
        return {"results": evaluate_language_model(model, processor, texts)} if texts else {}
    task = TASKS[facts["task"]["name"]]
    own = recipe_of(task, {"recipe": recipe, "task": facts["task"]})
    data = task.read(own, "test")
    found = facts_of_training(stage, model, processor, "validation" if data is None else "test")
    return found if data is None else found | {"results": task.evaluate(model, processor, data, own)}


def write_checksums(out: Path) -> None:
    """Write the SHA-256 of each published file below `out`, as `sha256sum` does."""
    lines = []
    for path in sorted(out.rglob("*")):
        place = path.relative_to(out)
        if path.is_file() and path.name != CHECKSUMS and not any(part.startswith(".") for part in place.parts):
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {place.as_posix()}\n")
    write_file(out / CHECKSUMS, "".join(lines))


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument(
        "out", nargs="?", type=Path, metavar="OUT", help="folder of the models; new, or of an earlier run"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of models; by default all")
    parser.add_argument("--list", action="store_true", help="print the names, and what each is trained by")
    parser.add_argument("--max_steps", type=int, help="of each network's training, to try the command in a new OUT")
    options = read_options(parser)
    if options.list:
        for model in RELEASES:
            print(f"{model.name:16} {model.recipe}.yaml {' '.join(model.options)} {model.weights}")
        return
    if options.out is None:
        parser.error("name the folder OUT")
    known = {model.name: model for model in RELEASES}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(known)}")
    be_quiet()
    try:
        failed = release_all([known[name] for name in options.names or known], options.out, options.max_steps)
    except FileNotFoundError as error:
        sys.exit(f"error: {error}")
    for name, error in failed.items():
        print(f"failed: {name}: {error}", file=sys.stderr)
    if failed:
        sys.exit(1)
    print(f"all in {options.out}; to publish: hf-lecture publish --all {options.out} NAMESPACE --dry-run")


if __name__ == "__main__":
    main()
