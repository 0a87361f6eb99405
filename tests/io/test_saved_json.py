# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Wrong types in the JSON files of a saved folder: one line that says what to mend, or a model that works."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub.errors import StrictDataclassError
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    TokenizersBackend,
)

from hf_lecture_models import ElmoTokenizer, LectureViTConfig, LectureViTForImageClassification, RecurrentConfig
from hf_lecture_models.base.grayscale_images import GrayscaleImageProcessor
from hf_lecture_models.cli.app import run_verb
from hf_lecture_models.generation.completion import complete
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.io.saved_json import FILES
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe
from tests.tokenization.test_every_tokenizer import TOKENIZERS

SAVED = Path(__file__).parents[1] / "saved_folders"
VALUES: list[Any] = [None, 3, -1, 2.5, True, "x", "", [], ["x"], [3], [[]], {}, {"x": 1}, {"x": []}]
ABSENT = {
    "special_tokens_map.json": {"bos_token": "<s>", "additional_special_tokens": []},
    "added_tokens.json": {"<s>": 0},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An LSTM with its tokenizer."""
    return Path(shutil.copytree(SAVED / "recurrent", tmp_path / "lstm"))


def change(path: Path, field: str, value: Any) -> None:
    """Set a field; no field: all that the file holds."""
    fields = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**fields, field: value} if field else value))


# Loading


@pytest.mark.parametrize(
    ("name", "field", "value", "words"),
    [
        ("config.json", "", [], "holds [], not an object of fields"),
        ("config.json", "model_type", [], "model_type is []; it must be a text"),
        ("config.json", "architectures", [3], "architectures is [3]; it must be a list of texts, or null"),
        ("config.json", "auto_map", None, "auto_map is null; it must be an object of names of classes"),
        ("config.json", "dtype", "float31", 'dtype is "float31"; it must be a dtype of torch, such as float32'),
        ("config.json", "id2label", {"0": {}}, "id2label is"),
        ("config.json", "num_labels", "x", "num_labels is"),
        ("config.json", "quantization_config", 3, "quantization_config is 3"),
        ("config.json", "attn_implementation", [], "attn_implementation is []"),
        ("config.json", "target_tokenizer", 3, "target_tokenizer is 3"),
        ("config.json", "hidden_size", "x", "Field 'hidden_size' expected int, got str"),
        ("config.json", "cell_type", "lsmt", "cell_type is 'lsmt'; it must be one of"),
        ("config.json", "is_encoder_decoder", True, "is_encoder_decoder is always False; leave it out"),
        ("generation_config.json", "", "x", 'holds "x", not an object of fields'),
        ("generation_config.json", "num_beams", -1, "num_beams is -1; it must be a whole number of at least 1"),
        ("generation_config.json", "eos_token_id", ["x"], 'eos_token_id is ["x"]; it must be a token id or a list'),
        ("tokenizer_config.json", "", None, "holds null, not an object of fields"),
        ("tokenizer_config.json", "tokenizer_class", 3, "tokenizer_class is 3; it must be a text"),
        ("tokenizer_config.json", "bos_token", {"x": 1}, 'bos_token is {"x": 1}; it must be a token'),
        ("tokenizer_config.json", "model_max_length", "x", "model_max_length is"),
        ("tokenizer_config.json", "added_tokens_decoder", {"0": 3}, "added_tokens_decoder is"),
        ("tokenizer_config.json", "template", [], "template is []"),
        ("tokenizer_config.json", "model_input_names", [], "model_input_names is []; it must be a list of texts"),
        ("special_tokens_map.json", "bos_token", 3, "bos_token is 3; it must be a token"),
        ("added_tokens.json", "the", {}, "the is {}; it must be a whole number of at least 0"),
    ],
)
def test_a_wrong_type_is_named_with_its_file(
    name: str, field: str, value: Any, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(folder / name, field, value)
    with pytest.raises(ValueError) as error:  # noqa: PT011  (the message is compared below)
        load_model(str(folder))
    assert str(error.value).startswith(f"{folder / name}")
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    options = {"prompts": ["the"], "files": [], "max_new_tokens": 2, "options": {}, "seed": None, "fuse": None}
    with pytest.raises(SystemExit):
        run_verb(
            "generate",
            "cli.generate",
            {"name": str(folder), **options, "fuse_weight": None, "json": False, "batch_size": 1},
        )
    assert capsys.readouterr().err == f"hf-lecture generate: {error.value}\n"


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("config.json", "dtype", 3),
        ("config.json", "id2label", 3),
        ("config.json", "dropout", "x"),
        ("generation_config.json", "pad_token_id", "x"),
    ],
)
def test_auto_classes_name_it_too(name: str, field: str, value: Any, folder: Path) -> None:
    change(folder / name, field, value)
    with pytest.raises(ValueError, match=rf"lstm/{name}: .*{field}"):
        AutoModelForCausalLM.from_pretrained(folder)


def test_a_wrong_field_of_the_caller_is_not_the_files(folder: Path) -> None:
    for value, error in (("x", StrictDataclassError), (-1, ValueError)):
        with pytest.raises(error, match="hidden_size") as raised:
            RecurrentConfig.from_pretrained(folder, hidden_size=value)
        assert "config.json" not in str(raised.value)
    change(folder / "config.json", "hidden_size", [])
    for load in (RecurrentConfig, AutoConfig):
        with pytest.raises(ValueError, match=r"lstm/config.json: .*hidden_size"):
            load.from_pretrained(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(ValueError, match=r"lstm/config.json holds \[\], not an object"):
        RecurrentConfig.from_pretrained(folder)


@pytest.mark.parametrize("name", [*TOKENIZERS, "elmo"])
def test_every_tokenizer_names_it(name: str, tmp_path: Path) -> None:
    """Its own class and AutoTokenizer."""
    tokenizer = ElmoTokenizer() if name == "elmo" else TOKENIZERS[name]()
    tokenizer.save_pretrained(tmp_path)
    change(tmp_path / "tokenizer_config.json", "additional_special_tokens", [3])
    for loader in (type(tokenizer), AutoTokenizer):
        with pytest.raises(ValueError, match=r"tokenizer_config.json: additional_special_tokens is \[3\]"):
            loader.from_pretrained(tmp_path)


def test_a_template_of_unknown_tokens_is_refused_without_a_panic(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    processor = json.loads((folder / "tokenizer.json").read_text())["post_processor"]
    change(folder / "tokenizer.json", "post_processor", {**processor, "special_tokens": {}})
    with pytest.raises(ValueError, match=r"tokenizer.json .*its post_processor writes '<s>', which its special_tokens"):
        load_model(str(folder))
    assert "panicked" not in capfd.readouterr().err


def test_a_tokenizer_file_without_added_tokens_is_named(folder: Path) -> None:
    fields = json.loads((folder / "tokenizer.json").read_text())
    del fields["added_tokens"]
    (folder / "tokenizer.json").write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=r"tokenizer.json has no added_tokens"):
        load_model(str(folder))


def test_a_special_token_is_not_empty(folder: Path) -> None:
    change(folder / "tokenizer_config.json", "unk_token", "")
    with pytest.raises(ValueError, match="lstm: unk_token is empty, and would stand between all characters"):
        load_model(str(folder))


@pytest.mark.parametrize(("field", "value"), [("image_processor_type", 3), ("size", [3]), ("auto_map", None)])
def test_an_image_processors_file_is_checked(field: str, value: Any, tmp_path: Path) -> None:
    sizes = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4}
    config = LectureViTConfig(image_size=4, patch_size=2, num_channels=1, **sizes)
    LectureViTForImageClassification(config).save_pretrained(tmp_path)
    GrayscaleImageProcessor(size={"height": 4, "width": 4}).save_pretrained(tmp_path)
    load_model(str(tmp_path))
    change(tmp_path / "preprocessor_config.json", field, value)
    with pytest.raises(ValueError, match=rf"preprocessor_config.json: {field} is"):
        load_model(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("task.json", [], r"task.json holds \[\], not an object"),
        ("task.json", {"name": "causal_lm"}, "task.json has no pipeline_tag"),
        ("task.json", {"name": "causal_lm", "pipeline_tag": None, "items": []}, r"task.json: items is \[\]"),
        ("training.json", {"history": [3]}, r"training.json: history is \[3\]; it must be a list of objects"),
        ("facts.json", {"name": "x"}, "facts.json has no task"),
        ("facts.json", {"name": "x", "task": {"measures": [{}]}}, "facts.json: task is"),
        ("recipe.yaml", [1], r"recipe.yaml holds \[1\], not a recipe's fields"),
    ],
)
def test_a_record_of_training_is_checked(name: str, fields: Any, words: str, folder: Path) -> None:
    model, tokenizer = load_model(str(folder))
    facts_of(folder, model, tokenizer)
    (folder / name).write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=words):
        facts_of(folder, model, tokenizer)


def test_a_recipes_model_type_is_a_name() -> None:
    with pytest.raises(ValueError, match=r"recipe: model.model_type is \[\]; it must be a name"):
        CausalLMRecipe(model={"model_type": []})


# Any value in any place


def changes(fields: Any) -> Iterator[tuple[tuple[Any, ...], Any, Callable[[], Any]]]:
    """Of each value, at the top or one level below: its place, another one, and a maker of what the file then holds."""

    def changed(path: tuple[Any, ...], value: Any) -> Any:
        whole = copy.deepcopy(fields)
        place = whole
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return whole

    for key, inner in fields.items():
        keys = inner if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
        for path in [(key,), *((key, below) for below in [*keys][:3])]:
            for value in VALUES:
                yield path, value, lambda path=path, value=value: changed(path, value)


def unclear_errors(family: str, number: int, tmp_path: Path) -> tuple[int, list[Any]]:
    """Load and use a folder so many times, with another value changed each time.

    Returns:
        How many were refused by an error that says why, and the other errors with what was changed.
    """
    folder = Path(shutil.copytree(SAVED / family, tmp_path / family))
    names = [name for name in FILES if (folder / name).is_file() or name in ABSENT]
    contents = {name: ABSENT.get(name) or json.loads((folder / name).read_text()) for name in names}
    contents["tokenizer_config.json"] |= {"extra_special_tokens": [], "auto_map": {}, "added_tokens_decoder": {}}
    contents["config.json"] |= {"dtype": "float32", "auto_map": {}, "id2label": {"0": "a"}, "quantization_config": None}
    contents["generation_config.json"] |= {"num_beams": 1, "top_k": 2, "suppress_tokens": [], "stop_strings": None}
    cases = [(name, *case) for name in names for case in changes(contents[name])]
    refused, unclear = 0, []
    for name, path, value, make in random.Random(0).sample(cases, number):
        (folder / name).write_text(json.dumps(make()))
        try:
            model, tokenizer = load_model(str(folder))
            complete(model, tokenizer, ["the"], max_new_tokens=2)
        except (ValueError, OSError):
            refused += 1
        except BaseException as error:  # a panic in Rust is not an Exception
            unclear.append((name, path, value, repr(error)))
        if (SAVED / family / name).is_file():
            shutil.copy(SAVED / family / name, folder)
        else:
            (folder / name).unlink()
    return refused, unclear


FAMILIES = ["gpt1", "ngram", "recurrent", "self_attention"]


@pytest.mark.parametrize(
    ("family", "number"),
    [("ngram", 24), ("recurrent", 24), *(pytest.param(family, 120, marks=pytest.mark.slow) for family in FAMILIES)],
)
def test_any_wrong_type_is_refused_or_harmless(family: str, number: int, tmp_path: Path) -> None:
    """No error but those that say what is wrong: no AttributeError, no KeyError, no panic."""
    refused, unclear = unclear_errors(family, number, tmp_path)
    assert (unclear, refused > 0.4 * number) == ([], True)


def test_stock_folders_are_left_to_transformers(tmp_path: Path) -> None:
    """What transformers reads without a word in a folder of its own, `load_model` reads too."""
    tokenizer = TokenizersBackend(tokenizer_object=Tokenizer(WordLevel({"a": 0, "<s>": 1}, unk_token="a")))
    for part in (GPT2LMHeadModel(GPT2Config(n_embd=4, n_head=1, n_layer=1, vocab_size=9)), tokenizer):
        part.save_pretrained(tmp_path)
    odd = {
        "config.json": {"id2label": {"-1": "x", "0": "y"}, "return_dict": None},
        "generation_config.json": {"bos_token_id": [1]},
        "tokenizer_config.json": {"model_max_length": -1},
        "training.json": {"history": {}},
    }
    for name, fields in odd.items():
        path = tmp_path / name
        values = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(values | fields))
    model, _ = load_model(str(tmp_path))
    assert isinstance(model, GPT2LMHeadModel)
