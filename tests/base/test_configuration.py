# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What every configuration of the package refuses and keeps: numbers, sizes, names of classes, fields of others."""

import dataclasses
import json
import math
import types

import pytest
from transformers import CONFIG_MAPPING, AutoConfig, PreTrainedConfig

from hf_lecture_models import BagOfWordsConfig, Gpt1Config, LectureBertConfig, RecurrentConfig, SelfAttentionConfig
from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.base.guards.configuration import ALIASES
from tests.stand_in import EncoderConfig

CONFIGURATIONS = sorted(
    (cls for cls in CONFIG_MAPPING._extra_content.values() if cls.__module__.startswith("hf_lecture_models.")),
    key=lambda cls: cls.__name__,
)


def fields_of_type(config_class: type, kind: type) -> list[str]:
    """Its own fields that hold one number of this type."""
    standard = {field.name for field in dataclasses.fields(PreTrainedConfig)}
    own = [field for field in dataclasses.fields(config_class) if field.name not in standard]
    return [f.name for f in own if kind in (f.type.__args__ if isinstance(f.type, types.UnionType) else [f.type])]


def test_these_are_all_configurations():
    assert len(CONFIGURATIONS) >= 6
    assert all(issubclass(cls, LectureConfig) for cls in CONFIGURATIONS)


@pytest.mark.parametrize("config_class", CONFIGURATIONS)
def test_impossible_numbers_are_refused(config_class):
    """At construction, at assignment, and in a file."""
    for name in fields_of_type(config_class, float):
        negative = () if name in config_class.finite_fields else (-1.0, -1, -1e-9)
        for value in (math.nan, math.inf, -math.inf, *negative):
            with pytest.raises(ValueError, match=rf"\.{name} is "):
                config_class(**{name: value})
            config = config_class()
            with pytest.raises(ValueError, match=rf"\.{name} is "):
                setattr(config, name, value)
            assert getattr(config, name) == getattr(config_class(), name)


@pytest.mark.parametrize("config_class", CONFIGURATIONS)
def test_every_size_is_bounded(config_class):
    """By an error that names it, before as much memory is asked for."""
    for name in [*fields_of_type(config_class, int), "num_labels"]:
        if name in fields_of_type(config_class, float):
            continue
        for value in (2**31 + 1, 2**62):
            with pytest.raises(ValueError, match=name):
                config_class(**{name: value})
            if name != "num_labels":
                with pytest.raises(ValueError, match=name):
                    setattr(config_class(), name, value)


def test_assignments_are_checked_by_a_flag_of_our_own(tmp_path):
    """transformers' own, `_post_init_done`, came with 5.22."""
    config = SelfAttentionConfig(vocab_size=9)
    vars(config).pop("_post_init_done", None)
    with pytest.raises(ValueError, match="hidden_size is -1"):
        config.hidden_size = -1
    config.save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert not [name for name in saved if "constructed" in name]


def test_lists_of_sizes_are_bounded():
    for sizes in ([8] * 1000, [8, 2**20]):
        with pytest.raises(ValueError, match="hidden_sizes is .*; at most 256 layers are allowed, of widths from 1 to"):
            BagOfWordsConfig(hidden_sizes=sizes)
    with pytest.raises(ValueError, match="adaptive_cutoffs has 999 entries; at most 64"):
        RecurrentConfig(vocab_size=1000, output_layer="adaptive", adaptive_cutoffs=list(range(1, 1000)))


# The one rule for arguments that are not fields: LectureConfig's docstring


@pytest.mark.filterwarnings("error")
def test_ids_of_tokens_are_kept():
    """transformers' Trainer writes the tokenizer's into every configuration."""
    assert LectureBertConfig(bos_token_id=1).bos_token_id == 1


@pytest.mark.parametrize("config_class", CONFIGURATIONS)
def test_a_configuration_that_a_trainer_has_written_to_is_saved_and_loaded(config_class, tmp_path, recwarn):
    """transformers' Trainer sets `use_cache` of every model, trl's too; a model without a cache does not read it."""
    config = config_class()
    config.use_cache = False
    config.save_pretrained(tmp_path)
    AutoConfig.from_pretrained(tmp_path)
    config_class(use_cache=False)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"moe_experts": 3}, ""),
        ({"position_embedding_type": "alibi"}, "; the field most like it is '(max_position|position_encod)"),
        ({"torchscript": True}, ""),
    ],
)
@pytest.mark.parametrize("config_class", [Gpt1Config, SelfAttentionConfig])
def test_what_the_model_does_not_read_is_kept_with_a_warning(config_class, given, hint, tmp_path):
    (name,) = given
    with pytest.warns(
        UserWarning, match=f"{config_class.__name__} keeps '{name}', but the model does not read it{hint}"
    ):
        config_class(**given).save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="does not read"):
        assert getattr(AutoConfig.from_pretrained(tmp_path), name) == given[name]


@pytest.mark.parametrize("name", ["num_beams", "temperature", "max_new_tokens", "min_p", "stop_strings", "max_length"])
@pytest.mark.parametrize("config_class", CONFIGURATIONS)
def test_parameters_of_generation_are_refused(config_class, name, tmp_path):
    """transformers drops some of them and says nothing."""
    message = rf"no field '{name}': .*generate\(\), or set model\.generation_config\.{name}"
    with pytest.raises(ValueError, match=message):
        config_class(**{name: 3})
    config_class().save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | {name: 3}), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"config\.json: .*{message}"):
        AutoConfig.from_pretrained(tmp_path)


@pytest.mark.parametrize("config_class", CONFIGURATIONS)
def test_what_is_given_in_the_place_of_a_files_fields_is_checked_too(config_class, tmp_path):
    """transformers drops a name that the configuration does not have, and says nothing."""
    config_class().save_pretrained(tmp_path)
    for load in (AutoConfig.from_pretrained, config_class.from_pretrained):
        with pytest.raises(ValueError, match=r"no field 'num_beams': .* set model\.generation_config\.num_beams"):
            load(tmp_path, num_beams=3)
        with pytest.raises(ValueError, match="no field 'num_label'; did you mean 'num_labels'"):
            load(tmp_path, num_label=3)
        assert load(tmp_path, num_beams=3, return_unused_kwargs=True)[1] == {"num_beams": 3}
        assert load(tmp_path, use_cache=False, num_labels=3, dtype="float16").num_labels == 3


def test_a_file_of_transformers_4_is_read_without_its_parameters_of_generation(tmp_path):
    """Its text-generation pipeline wrote those of `task_specific_params` into the configuration, and saved them."""
    values = {"model_type": "transfo-xl", "do_sample": True, "max_length": 250, "transformers_version": "4.35.2"}
    (tmp_path / "config.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.warns(UserWarning, match="leaves out max_length=250, .*: set model.generation_config.max_length"):
        config = AutoConfig.from_pretrained(tmp_path)
    config.save_pretrained(tmp_path)
    assert "do_sample" not in json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("config_class", CONFIGURATIONS)
def test_names_of_transformers_configurations_are_read(config_class, tmp_path):
    """At construction, at assignment, by reading the attribute, and in a file; two values of one field are refused."""
    names = {field.name for field in dataclasses.fields(config_class)}
    for name, aliases in ALIASES.items():
        if name not in names or (name == "hidden_size" and "num_attention_heads" not in names):
            continue
        default = getattr(config_class(), name)
        value = {str: default, float: 0.25}.get(type(default), 2 if name == "num_attention_heads" else 48)
        for alias in set(aliases) - names:
            config = config_class(**{alias: value})
            assert (getattr(config, name), getattr(config, alias)) == (value, value)
            config.save_pretrained(tmp_path)
            assert getattr(AutoConfig.from_pretrained(tmp_path), name) == value
            config = config_class()
            setattr(config, alias, value)
            assert getattr(config, name) == value


def test_two_values_of_one_field_are_refused():
    with pytest.raises(
        ValueError, match="Gpt1Config is given num_layers=2 and num_hidden_layers=3, which are one field"
    ):
        Gpt1Config(num_layers=2, num_hidden_layers=3)
    with pytest.raises(ValueError, match="n_layer=4 and num_hidden_layers=2"):
        Gpt1Config(num_layers=2, n_layer=4)
    assert Gpt1Config(num_layers=2, num_hidden_layers=2).num_hidden_layers == 2
    assert SelfAttentionConfig(activation_function="swish").hidden_act == "silu"  # transformers means that by it


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"hiden_size": 3}, "no field 'hiden_size'; did you mean 'hidden_size'"),
        ({"layer_norm_epsilons": 1e-6}, "no field 'layer_norm_epsilons'; did you mean 'layer_norm_epsilon'"),
        ({"num_beams": 3}, "no field 'num_beams': it is a parameter of generation"),
        ({"vocab_size": 5}, "bos_token_id is 8, outside the vocabulary of 5"),
        ({"hidden_size": 7}, "hidden_size is 7; it must be a multiple of num_attention_heads=4"),
        ({"id2label": {0: "a", 1: "b"}, "label2id": {"a": 1}}, "label2id gives 'a' the class 1"),
        ({"note": object()}, "not JSON serializable"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(tmp_path, attributes, message):
    config = SelfAttentionConfig(vocab_size=9, bos_token_id=8)
    for name, value in attributes.items():
        setattr(config, name, value)
    with pytest.raises(
        ValueError, match=f"SelfAttentionConfig could not be loaded again, so it is not saved: .*{message}"
    ):
        config.save_pretrained(tmp_path / "config")
    assert not list(tmp_path.iterdir())


def test_any_other_attribute_is_saved_and_loaded(tmp_path):
    with pytest.warns(UserWarning, match="'my_note'"):
        config = SelfAttentionConfig(my_note="kept")
    config.seeds = [1, 2]
    config.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["seeds"] == [1, 2]
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert (loaded.my_note, loaded.seeds) == ("kept", [1, 2])


DERIVED = [
    (config_class, name)
    for config_class in CONFIGURATIONS
    for name, value in vars(config_class).items()
    if isinstance(value, property) and value.fset is None
]


@pytest.mark.parametrize(("config_class", "name"), DERIVED)
def test_what_follows_from_other_fields_is_refused(config_class, name):
    """`context_size` of the feed-forward model is its order less one; a config.json may name it all the same."""
    with pytest.raises(ValueError, match=f"{name} of {config_class.__name__} follows from its other fields"):
        config_class(**{name: 3})
    with pytest.raises(ValueError, match="leave it out"):
        setattr(config_class(), name, 3)


# The names of classes


NAMES = {0: "negative", 1: "neutral", 2: "positive"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_labels": 0}, "at least one"),
        ({"id2label": {}}, "at least one"),
        ({"id2label": {1: "a", 2: "b"}}, r"classes \[1, 2\]; it must name 0, 1, 2"),
        (
            {"id2label": {0: "a", 1: "b"}, "label2id": {"a": 1, "b": 0}},
            "gives 'a' the class 1, which id2label calls 'b'",
        ),
        ({"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "c": 2}}, "'c' the class 2, which id2label calls None"),
        ({"problem_type": "classification"}, "must be one of None, 'regression'"),
        ({"num_label": 3}, "'num_label'; did you mean 'num_labels'"),
        ({"id2lable": NAMES}, "did you mean 'id2label'"),
    ],
)
def test_contradictory_labels_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        EncoderConfig(**fields)


def test_labels_can_be_given_in_any_way(tmp_path):
    """By number; by names, as JSON has them too; with numbers by name; and two classes of one name, as ImageNet has."""
    assert EncoderConfig(num_labels=3).id2label == {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
    numbers = {name: number for number, name in NAMES.items()}
    for fields in ({"id2label": NAMES}, {"id2label": {str(n): name for n, name in NAMES.items()}, "label2id": numbers}):
        config = EncoderConfig(**fields)
        assert (config.num_labels, config.id2label, config.label2id) == (3, NAMES, numbers)
        config.save_pretrained(tmp_path)
        loaded = EncoderConfig.from_pretrained(tmp_path)
        assert (loaded.num_labels, loaded.id2label, loaded.label2id) == (3, NAMES, numbers)
    cranes = EncoderConfig(id2label={0: "crane", 1: "crane"}, label2id={"crane": 1})
    assert cranes.num_labels == 2


def test_numbers_follow_new_names(tmp_path):
    config = EncoderConfig(num_labels=2)
    config.id2label = NAMES
    assert config.label2id == {"negative": 0, "neutral": 1, "positive": 2}
    config.num_labels = 4
    assert config.label2id == {f"LABEL_{number}": number for number in range(4)}
    with pytest.raises(ValueError, match="id2label"):
        config.id2label = {1: "a"}
    config.save_pretrained(tmp_path)
    renamed = EncoderConfig.from_pretrained(tmp_path, id2label=dict(enumerate("abcd")))
    assert renamed.label2id == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert EncoderConfig.from_pretrained(tmp_path, num_labels=5).num_labels == 5
