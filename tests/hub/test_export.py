# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""An exported folder is whole, is ours where the package is imported, and appears only when it is finished.

That it loads where the package cannot be imported is checked for every model by tests/model_tests.py.
"""

import errno
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoTokenizer,
    FunnelBaseModel,
    FunnelConfig,
    FunnelModel,
    pipeline,
)

from hf_lecture_models import LectureViTConfig, LectureViTForImageClassification
from hf_lecture_models.base.grayscale_images import GrayscaleImageProcessor
from hf_lecture_models.evaluation.sentence_ranking import SentenceRankingPipeline
from hf_lecture_models.hub import export
from hf_lecture_models.hub.facts import collect_facts
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent.modeling_recurrent import RecurrentForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.hub.card_examples import output_without_package
from tests.model_tests import equal_json
from tests.stand_in import StandInConfig, StandInForCausalLM, stand_in_tokenizer
from tests.stand_in.tokenization_stand_in import DigitTokenizer


@pytest.fixture
def model() -> StandInForCausalLM:
    return StandInForCausalLM(StandInConfig())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_folder_is_self_contained(model: StandInForCausalLM, tmp_path: Path) -> None:
    export(model, stand_in_tokenizer(), tmp_path / "out")
    names = set(contents(tmp_path / "out"))
    assert {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"} <= names
    code = {name for name in names if name.endswith(".py")}
    assert {"modeling_stand_in.py", "base_configuration.py", "base_scoring.py", "base_travelling_guards.py"} <= code
    assert not {name for name in code if "base_guards" in name or name in ("io_files.py", "io_saved_json.py")}
    rooms = {name.partition("_")[0] for name in code}
    assert rooms == {"modeling", "base", "io", "layers", "evaluation"}, "nothing else is needed"
    config = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    assert config["auto_map"] == {
        "AutoConfig": "modeling_stand_in.StandInConfig",
        "AutoModelForCausalLM": "modeling_stand_in.StandInForCausalLM",
    }
    assert len(AutoTokenizer.from_pretrained(tmp_path / "out")) == 20


def test_auto_map_lists_every_class_of_the_model_type(tmp_path: Path) -> None:
    config = RecurrentForCausalLM.config_class(vocab_size=20, hidden_size=4, num_hidden_layers=1)
    export(RecurrentForCausalLM(config), None, tmp_path)
    auto_map = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["auto_map"]
    assert auto_map == {
        "AutoConfig": "configuration_recurrent.RecurrentConfig",
        "AutoModel": "modeling_recurrent.RecurrentModel",
        "AutoModelForCausalLM": "modeling_recurrent.RecurrentForCausalLM",
        "AutoModelForSequenceClassification": "modeling_recurrent.RecurrentForSequenceClassification",
        "AutoModelForTokenClassification": "modeling_recurrent.RecurrentForTokenClassification",
    }


LOAD = """
from transformers import AutoModelForCausalLM
for name in ("lacks", "unknown", "diverged"):
    try:
        AutoModelForCausalLM.from_pretrained(name, trust_remote_code=True)
        print("loaded")
    except ValueError as error:
        print(str(error).replace("\\n", " "))
"""


def test_a_published_copy_refuses_weights_that_are_not_its_own(tmp_path: Path) -> None:
    model = StandInForCausalLM(StandInConfig())
    weights = model.state_dict()
    first = sorted(weights)[0]
    for name in ("lacks", "unknown", "diverged"):
        export(model, None, tmp_path / name)
    others = {key: tensor.contiguous() for key, tensor in weights.items() if key != first}
    save_file(others, tmp_path / "lacks" / "model.safetensors", {"format": "pt"})
    further = {key: tensor.clone() for key, tensor in weights.items()} | {"other.weight": torch.ones(1)}
    save_file(further, tmp_path / "unknown" / "model.safetensors", {"format": "pt"})
    nan = {key: tensor.clone() for key, tensor in weights.items()} | {first: torch.full_like(weights[first], math.nan)}
    save_file(nan, tmp_path / "diverged" / "model.safetensors", {"format": "pt"})
    lacking, unknown, diverged = output_without_package(LOAD, tmp_path, tmp_path / "modules").splitlines()
    assert f"lacks tensors: {first}" in lacking
    assert "holds unknown tensors: other.weight" in unknown
    assert f"holds NaN or infinite values in {first}" in diverged


RANK = """
import json
from transformers import pipeline
rank = pipeline("sentence-ranking", model=".", trust_remote_code=True)
assert type(rank).__module__.startswith("transformers_modules."), type(rank)
rankings = [rank(["the cat saw", "saw the the", "zebras"], batch_size=2, return_tokens=True)]
rankings.append(rank([["the cat"], ["a dog"]], probability="prefix"))
rankings.append(rank(["the cat", "the dog"], scores=[-1.0, -2.0], weight=0.5, length_bonus=1.0))
generate = pipeline("text-generation", model=".", trust_remote_code=True)
options = {"max_new_tokens": 8, "do_sample": False, "return_full_text": False}
rankings.append(generate("a dog ", stop_sequence=["the"], **options))
print(json.dumps(rankings))
"""


@pytest.mark.slow
@pytest.mark.parametrize("unk_token", ["<unk>", None])
def test_our_own_pipelines_run_where_the_package_is_absent(tmp_path: Path, unk_token: str | None) -> None:
    texts = ["the cat saw the dog", "a dog saw the cat", *([] if unk_token is None else ["a bird"])]
    tokenizer = WordTokenizer.train(texts, unk_token=unk_token, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", progress=False)
    export(model, tokenizer, tmp_path / "out")
    found = json.loads(output_without_package(RANK, tmp_path / "out", tmp_path / "modules"))
    rank: Any = pipeline("sentence-ranking", model=str(tmp_path / "out"))  # the package's own serves, without the flag
    assert type(rank) is SentenceRankingPipeline
    expected = [rank(["the cat saw", "saw the the", "zebras"], batch_size=2, return_tokens=True)]
    expected.append(rank([["the cat"], ["a dog"]], probability="prefix"))
    expected.append(rank(["the cat", "the dog"], scores=[-1.0, -2.0], weight=0.5, length_bonus=1.0))
    expected.append([{"generated_text": "saw the"}])
    assert equal_json(found, expected)


def test_pipelines_travel_with_what_they_run(tmp_path: Path) -> None:
    language_model = RecurrentForCausalLM(RecurrentForCausalLM.config_class(vocab_size=20, hidden_size=4))
    export(language_model, None, tmp_path / "lm")
    config = json.loads((tmp_path / "lm" / "config.json").read_text(encoding="utf-8"))
    assert config["custom_pipelines"] == {
        "sentence-ranking": {
            "impl": "evaluation_travelling_ranking.SentenceRankingPipeline",
            "pt": ["AutoModelForCausalLM"],
            "type": "text",
        }
    }
    assert (tmp_path / "lm" / "evaluation_travelling_ranking.py").is_file()
    AutoModelForCausalLM.from_pretrained(tmp_path / "lm").save_pretrained(tmp_path / "saved")
    assert "custom_pipelines" not in json.loads((tmp_path / "saved" / "config.json").read_text(encoding="utf-8"))
    export(language_model.model, None, tmp_path / "states")
    assert "custom_pipelines" not in json.loads((tmp_path / "states" / "config.json").read_text(encoding="utf-8"))
    assert not list((tmp_path / "states").glob("evaluation_*.py"))


@pytest.mark.parametrize("trust", [None, True])
def test_the_packages_own_classes_serve(tmp_path: Path, trust: bool | None) -> None:
    """Where the package is imported nothing in the folder runs, whatever the flag says."""
    config = RecurrentForCausalLM.config_class(vocab_size=20, hidden_size=4, num_hidden_layers=1)
    export(RecurrentForCausalLM(config), None, tmp_path)
    for path in tmp_path.glob("*.py"):
        path.write_text("raise SystemExit('the code of the folder ran')\n", encoding="utf-8")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, trust_remote_code=trust)
    assert type(loaded) is RecurrentForCausalLM


def test_an_exported_image_processor_needs_no_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does transformers ask whether its code may run: the package's own class serves."""
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", asked.append)
    sizes = {"image_size": 4, "patch_size": 2, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1}
    model = LectureViTForImageClassification(LectureViTConfig(**sizes, num_channels=1))
    export(model, GrayscaleImageProcessor(size={"height": 4, "width": 4}), tmp_path)
    pipe: Any = pipeline("image-classification", model=str(tmp_path))
    assert type(pipe.image_processor) is GrayscaleImageProcessor
    assert pipe(Image.new("RGB", (5, 5)))
    assert not asked


def test_a_plain_save_of_an_exported_model_names_no_code(tmp_path: Path) -> None:
    config = RecurrentForCausalLM.config_class(vocab_size=20, hidden_size=4, num_hidden_layers=1)
    export(RecurrentForCausalLM(config), None, tmp_path / "exported")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "exported")
    loaded.save_pretrained(tmp_path / "saved")
    assert "auto_map" not in json.loads((tmp_path / "saved" / "config.json").read_text(encoding="utf-8"))
    assert not list((tmp_path / "saved").glob("*.py"))
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "saved")
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in loaded.state_dict().items())


def test_a_tokenizer_written_in_python_travels_as_code(model: StandInForCausalLM, tmp_path: Path) -> None:
    tokenizer = DigitTokenizer()
    export(model, tokenizer, tmp_path)
    assert (tmp_path / "tokenization_stand_in.py").is_file()
    with pytest.raises(ValueError, match="trust_remote_code"):
        AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=False)
    loaded = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=True)
    assert type(loaded).__name__ == "DigitTokenizer"
    assert type(loaded) is not DigitTokenizer, "the folder's copy was expected: this class is registered nowhere"
    assert loaded("4 x2")["input_ids"] == tokenizer("4 x2")["input_ids"] == [4, 10, 10, 2]


class FullDisk:
    """A tokenizer that finds no space left, after its first file."""

    def save_pretrained(self, folder: Path) -> None:
        (folder / "tokenizer.json").write_text("{", encoding="utf-8")
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_failed_export_leaves_the_old_folder_or_nothing(model: StandInForCausalLM, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        export(model, FullDisk(), tmp_path / "out")
    assert not list(tmp_path.iterdir())
    export(model, None, tmp_path / "out")
    before = contents(tmp_path / "out")
    with torch.no_grad():
        model.lm_head.weight.add_(1.0)
    with pytest.raises(OSError, match="No space left"):
        export(model, FullDisk(), tmp_path / "out")
    assert contents(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_class_that_is_not_registered_is_refused(tmp_path: Path) -> None:
    class Unregistered(StandInForCausalLM):
        pass

    with pytest.raises(ValueError, match="Unregistered is not registered"):
        export(Unregistered(StandInConfig()), None, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_card_is_written_with_facts(model: StandInForCausalLM, tmp_path: Path) -> None:
    export(model, None, tmp_path, facts=collect_facts(model, stand_in_tokenizer(), {}, name="a stand-in", data={}))
    assert "# a stand-in" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_models_of_transformers_need_no_code(tmp_path: Path) -> None:
    """Also where an Auto class knows several for one configuration."""
    config = FunnelConfig(vocab_size=9, block_sizes=[1, 1], d_model=8, n_head=2, d_head=4, d_inner=8)
    for model_class in (FunnelModel, FunnelBaseModel):
        export(model_class(config), None, tmp_path)
        assert not list(tmp_path.glob("*.py"))
        assert type(AutoModel.from_pretrained(tmp_path)) is model_class
