# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`publish --all`: the plan, broken folders, one repository for each model, one collection, and going on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard
from typer.testing import CliRunner

from hf_lecture_cli import app
from hf_lecture_models.cli.publish_all import plan_names
from tests.hub.stand_in_hub import StandInHub
from tests.hub.test_publish import _save, hub, model, tokenizer  # noqa: F401  (fixtures)

COLLECTION = "somebody/models-of-the-nlp-lectures-0123"


@pytest.fixture
def runs(model: Any, tokenizer: Any, tmp_path: Path) -> Path:  # noqa: F811
    """Two trained models, one of them deeper, with a checkpoint and a hidden folder that are no models of their own."""
    for name in ("small_lstm", "second/gru 2"):
        _save(model, tokenizer, tmp_path / "runs" / name)
    (tmp_path / "runs" / ".cache").mkdir()
    for inner in ("runs/small_lstm/checkpoints/step_1", "runs/.cache"):
        (tmp_path / inner).mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / "runs/small_lstm/config.json", tmp_path / inner)
    return tmp_path / "runs"


def _call(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["publish", "--all", *map(str, arguments)])


def test_the_plan_is_printed_and_nothing_is_uploaded(hub: StandInHub, runs: Path) -> None:  # noqa: F811
    done = _call(runs, "somebody", "--dry-run", "--collection", "My models")
    assert done.exit_code == 0, done.output
    first, second, last = done.stdout.splitlines()
    assert first.startswith(f"{runs}/second/gru 2 -> somebody/second-gru-2: ")
    assert second.startswith(f"{runs}/small_lstm -> somebody/small_lstm: ")
    assert int(second.split()[-2].replace(",", "")) > (runs / "small_lstm" / "model.safetensors").stat().st_size
    assert last == "collection 'My models' of somebody: 2 models"
    assert not hub.requests


def test_all_are_uploaded_and_collected_and_a_second_run_sends_nothing(hub: StandInHub, runs: Path) -> None:  # noqa: F811
    done = _call(runs, "somebody", "--private")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == f"{hub.url}/collections/{COLLECTION}"
    assert set(hub.repositories) == {"somebody/small_lstm", "somebody/second-gru-2"}
    card = ModelCard(hub.commits("somebody/second-gru-2")[-1].files["README.md"].decode())
    assert 'model="somebody/second-gru-2"' in card.text
    collected = hub.collections[COLLECTION]
    assert [item["id"] for item in collected["items"]] == ["somebody/second-gru-2", "somebody/small_lstm"]
    assert collected["private"]
    assert all(repository.private for repository in hub.repositories.values())
    sent = hub.sent()
    again = _call(runs, "somebody", "--private")
    assert again.stdout.count("nothing had changed") == 2
    assert hub.sent() == sent
    assert len(hub.collections[COLLECTION]["items"]) == 2


@pytest.mark.slow
def test_a_failed_upload_is_named_and_the_next_run_continues(
    hub: StandInHub,  # noqa: F811
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hf_lecture_models.cli import publish_all

    upload = publish_all.upload

    def fail_at_second(stage: Path, repo: str, **options: Any) -> Any:
        hub.fail = {"commit": 500} if repo.endswith("lstm") else {}
        return upload(stage, repo, **options)

    monkeypatch.setattr(publish_all, "upload", fail_at_second)
    done = _call(runs, "somebody")
    assert done.exit_code == 1
    assert "somebody/small_lstm is not published: " in done.stderr
    assert "(1 of 2 are; the same command continues)" in done.stderr
    assert hub.collections == {}
    monkeypatch.setattr(publish_all, "upload", upload)
    hub.fail = {}
    done = _call(runs, "somebody")
    assert done.exit_code == 0, done.output
    assert [len(hub.commits(repo)) for repo in ("somebody/second-gru-2", "somebody/small_lstm")] == [1, 1]


def test_broken_folders_are_named_before_anything_is_uploaded(hub: StandInHub, runs: Path) -> None:  # noqa: F811
    _, small = sorted(runs.rglob("model.safetensors"))
    small.write_bytes(b"cut off")
    for name, record in (("stopped", {"finished": False}), ("emptied", {"finished": True})):
        (runs / name).mkdir()
        (runs / name / "training.json").write_text(json.dumps(record), encoding="utf-8")
    done = _call(runs, "somebody")
    assert done.exit_code == 1
    assert "3 of 4 folders are broken, nothing is uploaded: emptied, small_lstm, stopped" in done.stderr
    for name, why in (("small_lstm", "damaged or cut off"), ("stopped", "--resume"), ("emptied", "no config.json")):
        assert why in done.stderr.partition(f"{runs}/{name} is broken: ")[2].partition("\n")[0]
    assert not hub.requests


def test_names_are_of_the_hub_and_different(tmp_path: Path) -> None:
    for name in ("a/b", "a-b"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.json").touch()
    with pytest.raises(ValueError, match=r"would both become me/a-b; rename one"):
        plan_names(tmp_path, "me")
    assert plan_names(tmp_path / "a-b", "me") == {"me/a-b": tmp_path / "a-b"}
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match="there is no trained model below"):
        plan_names(tmp_path / "none", "me")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        plan_names(tmp_path / "gone", "me")


def test_what_does_not_fit_is_refused(runs: Path) -> None:
    done = _call(runs, "somebody/small")
    assert done.exit_code == 1
    assert "'somebody/small' is not a namespace" in done.stderr
    done = _call(runs, "somebody", "--evaluate", runs / "small_lstm" / "config.json")
    assert done.exit_code == 2
    assert "--evaluate measures one model" in done.stderr
