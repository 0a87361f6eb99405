# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Publishing to a stand-in server: what arrives, what a broken upload leaves, what is told, and who hears the token."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import HfApi, ModelCard, constants
from safetensors.torch import load
from typer.testing import CliRunner

from hf_lecture_cli import app
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.hub import publish
from hf_lecture_models.hub.facts import collect_facts, write_facts
from hf_lecture_models.loading import load_model
from hf_lecture_models.models.feed_forward.modeling_feed_forward import FeedForwardForCausalLM
from hf_lecture_models.models.recurrent.modeling_recurrent import RecurrentForCausalLM
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe
from hf_lecture_models.tasks.translation.translate import translate
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.forked_python import PATIENCE
from tests.hub.card_examples import output_of, output_without_package
from tests.hub.stand_in_hub import StandInHub, stand_in_hub
from tests.tasks.small_translator import SOURCES, make_translator

PROGRAM = [sys.executable, "-c", "from hf_lecture_cli import main; main()", "publish"]
TOKEN = "hf_theSecretOfThisTest0123456789"
REPO = "somebody/small-lstm"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    """A Hub of our own, for this process; huggingface_hub read its settings when it was imported."""
    with stand_in_hub(TOKEN) as server:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
        yield server


@pytest.fixture
def tokenizer() -> WordTokenizer:
    return WordTokenizer.train(["the cat saw the dog", "a dog saw the cat"], progress=False)


@pytest.fixture
def model(tokenizer: WordTokenizer) -> RecurrentForCausalLM:
    return _small(RecurrentForCausalLM, tokenizer, hidden_size=4, num_hidden_layers=1)


def _small(cls: Any, tokenizer: WordTokenizer, **fields: Any) -> Any:
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    return cls(cls.config_class(vocab_size=len(tokenizer), **ids, **fields)).eval()


def _facts(model: Any, tokenizer: Any) -> dict[str, Any]:
    data = {"name": "Two Sentences", "split": "test", "language": "en", "hub_id": "somebody/two_sentences"}
    task = CausalLM().describe(model, CausalLMRecipe())
    results = {"perplexity": 5.5}
    return collect_facts(model, tokenizer, results, name="a small LSTM", data=data, task=task, licence="apache-2.0")


def _save(model: Any, tokenizer: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_facts(folder, _facts(model, tokenizer))
    return folder


def _settings(hub: StandInHub, home: Path) -> dict[str, str]:
    settings = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1"}
    return settings | {"HF_HOME": str(home)}


def test_a_model_is_published_in_one_commit(hub: StandInHub, model: Any, tokenizer: Any, tmp_path: Path) -> None:
    pictures = {"learning_curve": tmp_path / "curve.png", "drawings": tmp_path / "strokes.svg"}
    for path in pictures.values():
        path.write_bytes(b"\x89PNG curve")
    done = publish(model, tokenizer, REPO, _facts(model, tokenizer), **pictures)
    (commit,) = hub.commits(REPO)
    assert (done.url, done.commit) == (f"{hub.url}/{REPO}", commit.sha)
    assert set(done.uploaded) == set(commit.files) - {".gitattributes"}
    assert {
        "config.json",
        "tokenizer.json",
        "modeling_recurrent.py",
        "README.md",
        "learning_curve.png",
        "drawings.svg",
    } <= set(commit.files)
    weights = load(commit.files["model.safetensors"])
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items() if name in weights)
    card = ModelCard(commit.files["README.md"].decode())
    assert card.data.eval_results[0].metric_value == 5.5
    assert f'model="{REPO}"' in card.text
    assert "![learning curve](learning_curve.png)" in card.text
    assert not hub.repositories[REPO].private


def test_published_again_only_what_changed_is_sent(hub: StandInHub, model: Any, tokenizer: Any) -> None:
    facts = _facts(model, tokenizer)
    first = publish(model, tokenizer, REPO, facts)
    before = hub.sent()
    again = publish(model, tokenizer, REPO, facts)
    assert (again.commit, again.uploaded, again.deleted) == (first.commit, [], [])
    assert len(hub.commits(REPO)) == 1
    assert hub.sent() == before

    publish(model, tokenizer, REPO, facts | {"name": "another title"})
    assert hub.sent()["storage"] == before["storage"], "the weights had not changed"
    assert set(_difference(hub)) == {"README.md"}

    with torch.no_grad():
        model.lm_head.weight.add_(1.0)
    done = publish(model, tokenizer, REPO, facts | {"name": "another title"})
    assert done.uploaded == ["model.safetensors"] == _difference(hub)
    assert hub.sent()["storage"] == 2 * before["storage"]


def _difference(hub: StandInHub) -> list[str]:
    """The files in which the last two commits differ."""
    old, new = (commit.files for commit in hub.commits(REPO)[-2:])
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def test_old_code_and_shards_go_and_foreign_files_stay(hub: StandInHub, model: Any, tokenizer: Any) -> None:
    publish(model, tokenizer, REPO)
    files = hub.commits(REPO)[-1].files
    foreign = {"notes.txt": b"mine", "train.py": b"print()", "pytorch_model.bin": b"old", "layers_old/a.py": b"x = 1"}
    foreign |= {"model.fp16.safetensors": b"half", "model_ema.safetensors": b"mean", "model-best.safetensors": b"best"}
    ours = {"layers_gone.py": b"x = 1", "tasks_gone.py": b"x = 1", "model-00001-of-00002.safetensors": b"old"}
    hub.repositories[REPO].add("main", {**files, **foreign, **ours})
    other = _small(FeedForwardForCausalLM, tokenizer, hidden_size=4, order=2)
    done = publish(other, tokenizer, REPO)
    assert set(done.left_alone) == set(foreign)
    assert {*ours, "modeling_recurrent.py", "configuration_recurrent.py"} <= set(done.deleted)
    left = hub.commits(REPO)[-1].files
    assert foreign.items() <= left.items()
    assert not set(done.deleted) & set(left)
    assert "modeling_feed_forward.py" in left


def test_a_branch_is_made_and_main_stays(hub: StandInHub, model: Any, tokenizer: Any) -> None:
    publish(model, tokenizer, REPO)
    publish(model, tokenizer, REPO, _facts(model, tokenizer), revision="measured")
    assert len(hub.commits(REPO)) == 1
    assert len(hub.commits(REPO, "measured")) == 2


def test_private_is_never_public(hub: StandInHub, model: Any, tokenizer: Any) -> None:
    publish(model, tokenizer, "somebody/hidden", private=True)
    assert hub.repositories["somebody/hidden"].private
    publish(model, tokenizer, REPO)
    with pytest.raises(ValueError, match="small-lstm is not published: it is public; make it private in its settings"):
        publish(model, tokenizer, REPO, _facts(model, tokenizer), private=True)
    assert len(hub.commits(REPO)) == 1


@pytest.mark.cases(1, 3)
@pytest.mark.parametrize(("call", "how"), [("put", "drop"), ("put", 500), ("commit", "drop"), ("commit", 500)])
def test_a_broken_upload_changes_nothing_and_can_be_repeated(
    hub: StandInHub, model: Any, tokenizer: Any, call: str, how: int | str
) -> None:
    publish(model, tokenizer, REPO)
    before = hub.commits(REPO)[-1]
    with torch.no_grad():
        model.lm_head.weight.add_(1.0)
    hub.fail[call] = how
    with pytest.raises(OSError, match="small-lstm is not published: .* publish again") as caught:
        publish(model, tokenizer, REPO)
    assert "\n" not in str(caught.value)
    assert hub.commits(REPO) == [before]
    hub.fail.clear()
    publish(model, tokenizer, REPO)
    assert _difference(hub) == ["model.safetensors"]


def test_what_others_push_meanwhile_is_not_overwritten(
    hub: StandInHub, model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(model, tokenizer, REPO)

    listed = HfApi.list_repo_tree

    def list_then_push(*arguments: Any, **options: Any) -> list[Any]:
        tree = list(listed(*arguments, **options))
        hub.repositories[REPO].add("main", {**hub.commits(REPO)[-1].files, "theirs.txt": b"new"})
        return tree

    monkeypatch.setattr(HfApi, "list_repo_tree", list_then_push)
    with pytest.raises(OSError, match="it was changed meanwhile"):
        publish(model, tokenizer, REPO, _facts(model, tokenizer))
    assert hub.commits(REPO)[-1].files["theirs.txt"] == b"new"


REFUSALS = {
    401: "log in again with `hf auth login`",
    403: "one with write access",
    404: "check the name",
    500: "answers 500",
}


@pytest.mark.cases(2, 4)
@pytest.mark.parametrize(
    ("call", "status", "fix"),
    [
        # Each call and each status once.
        pytest.param(call, status, fix, marks=[] if call == "create" or status == 403 else pytest.mark.slow)
        for call in ("create", "tree", "batch", "put", "commit")
        for status, fix in REFUSALS.items()
    ],
)
def test_what_the_hub_refuses_is_one_line_without_the_token(
    hub: StandInHub,
    model: Any,
    tokenizer: Any,
    status: int,
    fix: str,
    call: str,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    hub.fail[call] = status
    caplog.set_level(logging.DEBUG)
    with pytest.raises(OSError, match=fix) as caught:
        publish(model, tokenizer, REPO)
    told = "".join(traceback.format_exception(caught.value)) + "".join(capfd.readouterr()) + caplog.text
    assert "\n" not in str(caught.value)
    assert TOKEN not in told
    assert "Traceback" in told


def test_the_token_goes_to_the_hub_alone(hub: StandInHub, model: Any, tokenizer: Any) -> None:
    publish(model, tokenizer, REPO)
    heard = {(request.server, request.authorization) for request in hub.requests}
    assert heard == {("hub", f"Bearer {TOKEN}"), ("storage", None)}
    assert not any(TOKEN.encode() in content for content in hub.commits(REPO)[-1].files.values())


def test_facts_that_hold_the_token_are_refused(hub: StandInHub, model: Any, tokenizer: Any) -> None:
    with pytest.raises(ValueError, match="README.md would publish your token") as caught:
        publish(model, tokenizer, REPO, _facts(model, tokenizer) | {"command": f"train --key {TOKEN}"})
    assert TOKEN not in str(caught.value)
    assert not hub.requests


def test_without_network_token_or_name_the_mend_is_named(
    hub: StandInHub, model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="'small-lstm' is no name of a repository: write NAMESPACE/NAME"):
        publish(model, tokenizer, "small-lstm")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(OSError, match=r"connection to http://127.0.0.1:9 failed .* check the network"):
        publish(model, tokenizer, REPO)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(OSError, match="HF_HUB_OFFLINE is set; unset it"):
        publish(model, tokenizer, REPO)
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(OSError, match="needs a token of the Hub: log in with `hf auth login`, or set HF_TOKEN"):
        publish(model, tokenizer, REPO)
    assert not hub.requests


@pytest.mark.slow
def test_both_vocabularies_of_a_translator_arrive(hub: StandInHub, tmp_path: Path) -> None:
    translator, pair = make_translator("ours", joint_vocabulary=False)
    done = publish(translator, pair, REPO)
    assert {"tokenizer.json", "target_tokenizer/tokenizer.json"} <= set(done.uploaded)
    files = hub.commits(REPO)[-1].files
    own = hub.repositories[REPO].add("main", files | {"target_tokenizer/old/a.txt": b"mine"})
    again = publish(translator, pair, REPO)
    assert (again.commit, again.left_alone) == (own.sha, ["target_tokenizer/old/a.txt"])
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    model, tokenizers = load_model(str(tmp_path))
    assert translate(model, tokenizers, SOURCES) == translate(translator, pair, SOURCES)
    joint = make_translator("ours")
    assert "target_tokenizer/tokenizer.json" in publish(*joint, REPO).deleted
    pair.push_to_hub("someone/pair")  # transformers' own way, of the tokenizers alone
    assert {"tokenizer.json", "target_tokenizer/tokenizer.json"} <= set(hub.commits("someone/pair")[-1].files)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_published_translator_of_two_vocabularies_translates_with_the_package_and_without_it(
    hub: StandInHub, tmp_path: Path
) -> None:
    translator, pair = make_translator("ours", joint_vocabulary=False)
    publish(translator, pair, REPO)
    expected = [one.text for one in translate(translator, pair, SOURCES)]
    for place, run in (("with", output_of), ("without", output_without_package)):
        code = (
            f"{'import hf_lecture_models' if place == 'with' else ''}\nimport json\nfrom transformers import pipeline\n"
            f"translator = pipeline('machine-translation', model={REPO!r}, trust_remote_code={place == 'without'})\n"
            f"print('\\n' + json.dumps([found['translation_text'] for found in translator({SOURCES!r})]))"
        )
        printed = run(code, tmp_path, tmp_path / place / "modules", **_settings(hub, tmp_path / place))
        assert json.loads(printed.splitlines()[-1]) == expected


LOAD = """
import json, sys
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline
found, trust = {}, {}
if sys.modules.get("hf_lecture_models") is None:
    try:
        AutoModelForCausalLM.from_pretrained(REPO)
    except ValueError as error:
        found["refusal"] = str(error)
    trust = {"trust_remote_code": True}
model = AutoModelForCausalLM.from_pretrained(REPO, **trust)
tokenizer = AutoTokenizer.from_pretrained(REPO)
found["logits"] = model(tokenizer("the cat saw", return_tensors="pt").input_ids).logits.tolist()
found["module"] = type(model).__module__
found["text"] = pipeline("text-generation", model=REPO, **trust)("the ", max_new_tokens=3)[0]["generated_text"]
print("\\n" + json.dumps(found))
"""


@pytest.mark.slow
def test_what_was_published_loads_with_the_package_and_without_it_and_only_if_trusted(
    hub: StandInHub, model: Any, tokenizer: Any, tmp_path: Path
) -> None:
    publish(model, tokenizer, REPO, _facts(model, tokenizer))
    expected = model(tokenizer("the cat saw", return_tensors="pt").input_ids).logits
    found = {}
    for place, run in (("with", output_of), ("without", output_without_package)):
        code = f"REPO = {REPO!r}\n{'import hf_lecture_models' if place == 'with' else ''}{LOAD}"
        settings = _settings(hub, tmp_path / place)
        found[place] = json.loads(run(code, tmp_path, tmp_path / place / "modules", **settings).splitlines()[-1])
        assert torch.equal(torch.tensor(found[place]["logits"]), expected)
        assert found[place]["text"].startswith("the ")
    assert found["with"]["module"].startswith("hf_lecture_models.")
    assert "trust_remote_code=True" in found["without"]["refusal"]
    assert found["without"]["module"].startswith("transformers_modules.")


def test_the_command_tells_what_it_would_do_and_what_the_card_lacks(
    hub: StandInHub, model: Any, tokenizer: Any, tmp_path: Path
) -> None:
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    command = ["publish", str(tmp_path / "model"), REPO]
    done = CliRunner().invoke(app, [*command, "--dry-run"])
    assert done.exit_code == 0, done.output
    assert "the card lacks results: --evaluate FILE" in done.stderr
    assert "the card lacks the licence of the weights: --licence NAME" in done.stderr
    assert "Nothing was measured." in done.stdout
    assert "modeling_recurrent.py" in done.stdout
    assert not hub.requests
    (tmp_path / "held_out.txt").write_text("the dog saw the dog\n", encoding="utf-8")
    measured = ["--evaluate", str(tmp_path / "held_out.txt"), "--licence", "mit", "--private"]
    done = CliRunner().invoke(app, [*command, *measured])
    assert done.exit_code == 0, done.output
    card = ModelCard(hub.commits(REPO)[-1].files["README.md"].decode())
    expected = evaluate_language_model(model, tokenizer, ["the dog saw the dog"])["perplexity"]
    assert card.data.eval_results is None, "the file has no name on the Hub"
    assert f"| perplexity per token | {expected:#.4g} |" in card.text
    assert card.data.license == "mit"
    assert "On held_out.txt" in card.text
    assert hub.repositories[REPO].private
    assert "uploaded: README.md, base_configuration.py" in done.stdout
    hub.fail["commit"] = 403
    done = CliRunner().invoke(app, [*command, "--licence", "mit"])
    assert done.exit_code == 1
    refusals = [line for line in done.stderr.splitlines() if line.startswith("hf-lecture publish:")]
    assert len(refusals) == 1
    assert "the token may not write there" in refusals[0]
    assert TOKEN not in done.output


@pytest.mark.slow
def test_the_command_killed_and_repeated(hub: StandInHub, model: Any, tokenizer: Any, tmp_path: Path) -> None:
    folder = _save(model, tokenizer, tmp_path / "model")
    hub.fail["put"] = "pause"
    environment = os.environ | _settings(hub, tmp_path / "home")
    running = subprocess.Popen([*PROGRAM, str(folder), REPO], env=environment, stderr=subprocess.PIPE, text=True)
    assert hub.paused.wait(PATIENCE), "the upload has not begun"
    running.kill()
    running.communicate()
    assert hub.commits(REPO) == []
    hub.fail.clear()
    hub.resumed.set()
    done = subprocess.run(
        [*PROGRAM, str(folder), REPO], env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (commit,) = hub.commits(REPO)
    assert f"{hub.url}/{REPO} is at commit {commit.sha}" in done.stdout
    assert TOKEN not in done.stdout + done.stderr
