# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture publish --all`: every model below a folder to the Hub, with its card, and one collection of them."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from hf_lecture_models.cli.publish import is_measurable, read
from hf_lecture_models.hub.facts import missing_facts
from hf_lecture_models.hub.publish import collect, files_in, prepare, upload
from hf_lecture_models.io.saved_json import read_fields

# Files that show that a training wrote a folder, even if it saved no model.
_OF_TRAINING = ("config.json", "training.json", "recipe.yaml")


def run(
    name: str, repo: str, collection: str, licence: str | None, private: bool, revision: str | None, dry_run: bool
) -> None:
    """Upload all models below the folder `name` to the namespace `repo`, and collect them.

    Each is written out and checked before the first upload.

    Raises:
        ValueError: there is no model, two of one name, or a broken one; nothing was uploaded.
        OSError: the Hub refuses; the same command continues with what is missing.
    """
    if not re.fullmatch(r"[\w.-]+", repo):
        raise ValueError(f"{repo!r} is not a namespace: write your user name or an organisation's")
    plan = plan_names(Path(name), repo)
    with TemporaryDirectory(prefix="hf_lecture_publish_") as place:
        stages = {target: Path(place) / target.replace("/", "--") for target in plan}
        _prepare_all(plan, stages, licence)
        for target, source in plan.items():
            sizes = [path.stat().st_size for path in files_in(stages[target]).values()]
            print(f"{source} -> {target}: {len(sizes)} files, {sum(sizes):,} bytes")
        print(f"collection {collection!r} of {repo}: {len(plan)} models")
        if dry_run:
            return
        for number, (target, stage) in enumerate(stages.items()):
            try:
                done = upload(stage, target, private=private, revision=revision)
            except (OSError, ValueError) as error:
                raise type(error)(f"{error} ({number} of {len(plan)} are; the same command continues)") from None
            changed = f"{len(done.uploaded)} uploaded, {len(done.deleted)} deleted"
            print(f"{done.url}: {changed if done.uploaded or done.deleted else 'nothing had changed'}")
    print(collect(collection, repo, list(plan), private=private))


def plan_names(folder: Path, namespace: str) -> dict[str, Path]:
    """Return the folder of each repository, in the order of their paths.

    Raises:
        OSError: there is no such folder.
        ValueError: it holds no model, or two of one name.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    plan: dict[str, Path] = {}
    for found in _trained_folders(folder):
        parts = found.relative_to(folder).parts or (folder.resolve().name,)
        repo = f"{namespace}/{re.sub(r'[^A-Za-z0-9_.]+', '-', '-'.join(parts)).strip('-.')}"
        if repo in plan:
            raise ValueError(f"{plan[repo]} and {found} would both become {repo}; rename one")
        plan[repo] = found
    if not plan:
        raise ValueError(f"there is no trained model below {folder}")
    return plan


def _trained_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders that a training wrote; what is inside such a folder belongs to it."""
    for place, inner, files in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        if any(name in files for name in _OF_TRAINING):
            inner.clear()
            yield Path(place)


def _prepare_all(plan: dict[str, Path], stages: dict[str, Path], licence: str | None) -> None:
    broken = []
    for repo, source in plan.items():
        try:
            _refuse_unfinished(source)
            model, tokenizer, facts, pictures = read(str(source), licence)
            prepare(model, tokenizer, repo, stages[repo], facts, **pictures)
        except Exception as error:  # whatever a damaged file raises, its folder is named
            print(f"{source} is broken: {' '.join(str(error).split()) or type(error).__name__}", file=sys.stderr)
            broken.append(source.name)
            continue
        for missing in missing_facts(facts, is_measurable(model)):
            print(f"{source}: the card lacks {missing}", file=sys.stderr)
    if broken:
        raise ValueError(f"{len(broken)} of {len(plan)} folders are broken, nothing is uploaded: {', '.join(broken)}")


def _refuse_unfinished(source: Path) -> None:
    record = source / "training.json"
    if record.is_file() and read_fields(record).get("finished") is False:
        raise ValueError("its training is not finished; repeat its command with --resume")
    if not (source / "config.json").is_file():
        raise ValueError("it holds no model (no config.json); train it, or move the folder")
