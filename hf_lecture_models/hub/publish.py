# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Publish a model on the Hub: weights, tokenizer, code and card, in one commit.

Until that commit the repository is as it was (a new one is empty), whatever interrupts the upload; repeating is safe,
and sends only what differs. Of the files that are there already, those that an earlier `publish` may have left and this
one does not need are deleted (see `MANAGED_FILES`); all others stay, and are named in the result.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError, HTTPError, OfflineModeIsEnabled
from huggingface_hub.hf_api import RepoFile

from hf_lecture_models.hub.card import DRAWINGS, LEARNING_CURVE, write_card
from hf_lecture_models.hub.export import export
from hf_lecture_models.hub.facts import collect_facts
from hf_lecture_models.io.saved_json import weight_file_patterns
from hf_lecture_models.io.task_file import TASK_FILE
from hf_lecture_models.tokenization.pairs import TARGET_FOLDER
from hf_lecture_models.version import __version__

# The files that `publish` writes under names that depend on the model, at the top of a repository or in a folder.
_MODEL_CODE = ("modeling", "configuration", "tokenization", "image_processing")
_SHARED_CODE = ("base", "evaluation", "io", "layers", "pipelines", "tasks")
MANAGED_FILES = (
    *weight_file_patterns(),
    *(f"{kind}_*.py" for kind in (*_MODEL_CODE, *_SHARED_CODE)),
    *(LEARNING_CURVE, DRAWINGS, TASK_FILE, f"{TARGET_FOLDER}/*"),
)
ERROR_HINTS = {
    401: "it refuses the token; log in again with `hf auth login`, or set HF_TOKEN to a token that is valid",
    403: "the token may not write there; use one with write access, or a namespace of your own",
    404: "there is no such place, or the token may not see it; check the name, `revision` and the token's rights",
    409: "it was changed meanwhile; look at it and publish again",
    412: "it was changed meanwhile; look at it and publish again",
    429: "too many requests; publish again later",
}


@dataclass(frozen=True)
class Publication:
    """The state of a repository after `publish`.

    Attributes:
        url: of the repository; commit: its newest one.
        uploaded, deleted: files of this commit, both empty if nothing differed and no commit was made.
        left_alone: files of the repository that `publish` neither wrote nor touched.
    """

    url: str
    commit: str
    uploaded: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    left_alone: list[str] = field(default_factory=list)


def publish(
    model: Any,
    tokenizer: Any,
    repo: str,
    facts: Mapping[str, Any] | None = None,
    *,
    learning_curve: str | os.PathLike[str] | None = None,
    drawings: str | os.PathLike[str] | None = None,
    private: bool = False,
    revision: str | None = None,
) -> Publication:
    """Export the model as `hub.export` does, with its card, and upload it in one commit.

    The token is the one of `hf auth login` or of the environment variable HF_TOKEN; it goes to the Hub alone.

    Args:
        model, tokenizer: as for `hub.export`.
        repo: "namespace/name" on the Hub; created where it does not exist.
        facts: of the card, from `hub.facts`. Without them the card says that nothing was measured.
        learning_curve: a picture for the card.
        drawings: the same of a model of pen strokes, from `hf-lecture see strokes`.
        private: the repository must be private; a new one becomes so.
        revision: the branch, created where it does not exist; None: main.

    Raises:
        ValueError: the name, the model or the facts do not do; `private`, and the repository is public.
        OSError: no token, no network, or the Hub refuses; the message says what to do, and the repository is as it was.
    """
    _check_name(repo)
    _token()
    with TemporaryDirectory(prefix="hf_lecture_publish_") as folder:
        stage = prepare(model, tokenizer, repo, Path(folder) / "stage", facts, learning_curve, drawings)
        return upload(stage, repo, private=private, revision=revision)


def upload(folder: Path, repo: str, *, private: bool = False, revision: str | None = None) -> Publication:
    """Upload a folder that `prepare` wrote, in one commit; arguments and errors as in `publish`."""
    token = _token()
    _refuse_secret(folder, token)
    api = _api(token)
    with _clear_errors(repo, token, api.endpoint):
        return _upload(api, folder, repo, private, revision)


def collect(title: str, namespace: str, repos: Sequence[str], *, private: bool = False) -> str:
    """Return the address of the namespace's collection of that title, after adding the repositories that it lacks.

    Raises:
        OSError: no token, no network, or the Hub refuses; what was added before stays.
    """
    token = _token()
    api = _api(token)
    with _clear_errors(f"the collection {title!r}", token, api.endpoint):
        collection = api.create_collection(title, namespace=namespace, private=private, exists_ok=True)
        there = {item.item_id for item in collection.items}
        for repo in repos:
            if repo not in there:
                api.add_collection_item(collection.slug, repo, "model", exists_ok=True)
    return str(collection.url)


def _token() -> str:
    token = get_token()
    if not token:
        raise OSError("publishing needs a token of the Hub: log in with `hf auth login`, or set HF_TOKEN")
    return token


def _api(token: str) -> HfApi:
    return HfApi(token=token, library_name="hf-lecture-models", library_version=__version__)


def prepare(
    model: Any,
    tokenizer: Any,
    repo: str,
    folder: Path,
    facts: Mapping[str, Any] | None = None,
    learning_curve: str | os.PathLike[str] | None = None,
    drawings: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the folder that `publish` uploads, and return it; arguments and errors as there."""
    _check_name(repo)
    facts = facts or collect_facts(model, tokenizer, {}, name=repo.partition("/")[2], data={})
    export(model, tokenizer, folder)
    for picture, name in ((learning_curve, LEARNING_CURVE), (drawings, DRAWINGS)):
        if picture is not None:
            shutil.copyfile(picture, folder / name)
    write_card(folder, {**facts, "repository": repo})
    return folder


def _check_name(repo: str) -> None:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo):
        raise ValueError(f"{repo!r} is no name of a repository: write NAMESPACE/NAME, with your user name in front")


def _refuse_secret(folder: Path, token: str) -> None:
    for path in files_in(folder).values():
        if path.suffix != ".safetensors" and token.encode() in path.read_bytes():
            raise ValueError(f"{path.name} would publish your token; take it out of the recipe or the facts")


def _upload(api: HfApi, folder: Path, repo: str, private: bool, revision: str | None) -> Publication:
    url = api.create_repo(repo, private=True if private else None, exist_ok=True)
    if revision is not None:
        api.create_branch(repo, branch=revision, exist_ok=True)
    info = api.model_info(repo, revision=revision)
    if private and not info.private:
        raise ValueError("it is public; make it private in its settings first, or leave `private` out")
    # One commit's tree, and that commit as the parent: what others push meanwhile is not overwritten.
    tree = api.list_repo_tree(repo, recursive=True, revision=info.sha)
    there = {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}
    local = files_in(folder)
    changed = [name for name, path in local.items() if _differs(path, there.get(name))]
    others = sorted(there.keys() - local.keys() - {".gitattributes"})
    deleted = [name for name in others if _is_managed(name)]
    left_alone = [name for name in others if name not in deleted]
    if not changed and not deleted:
        return Publication(str(url), str(info.sha), left_alone=left_alone)
    additions = [CommitOperationAdd(name, local[name]) for name in changed]
    commit = api.create_commit(
        repo,
        [*additions, *map(CommitOperationDelete, deleted)],
        commit_message=f"Published with hf-lecture-models {__version__}",
        revision=revision,
        parent_commit=info.sha,
    )
    return Publication(str(url), commit.oid, changed, deleted, left_alone)


def files_in(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by their names in a repository."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def _is_managed(name: str) -> bool:
    return any(fnmatch(name, pattern) and name.count("/") == pattern.count("/") for pattern in MANAGED_FILES)


def _differs(path: Path, there: RepoFile | None) -> bool:
    """Return True if the repository has other bytes, by git's hash of the file or the hash of a large file."""
    if there is None or there.size != path.stat().st_size:
        return True
    if there.lfs is not None:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() != there.lfs.sha256
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() != there.blob_id


@contextmanager
def _clear_errors(repo: str, token: str, endpoint: str) -> Iterator[None]:
    """Turn an error of the Hub into one line, without the token and without the chain that ends in the request."""
    try:
        yield
    except Exception as error:
        # The threads that upload large files wrap what happened to them.
        cause = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error
        kind = ValueError if isinstance(cause, ValueError) and not isinstance(cause, OSError) else OSError
        raise kind(explain(cause, repo, endpoint).replace(token, "<token>")) from None


def explain(error: BaseException, repo: str, endpoint: str) -> str:
    """Return a line that names the error and the remedy."""
    if isinstance(error, OfflineModeIsEnabled):
        said = "HF_HUB_OFFLINE is set; unset it"
    elif isinstance(error, HfHubHTTPError):
        status, reason = error.response.status_code, error.server_message or "without a reason"
        said = f"{endpoint}: " + ERROR_HINTS.get(status, f"it answers {status}, {reason}; publish again later")
    elif isinstance(error, HTTPError):
        reason = " ".join(str(error).split())
        said = f"the connection to {endpoint} failed ({reason}); check the network, publish again"
    else:
        said = str(error)
    return f"{repo} is not published: {said}"
