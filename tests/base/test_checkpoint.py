# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a save leaves in its folder, what is not saved, and what is refused before it is loaded."""

import copy
import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, OpenAIGPTConfig, OpenAIGPTLMHeadModel
from transformers.integrations.peft import MIN_PEFT_VERSION

from hf_lecture_models import (
    BagOfWordsConfig,
    BagOfWordsForSequenceClassification,
    Gpt1Config,
    Gpt1ForCausalLM,
    NGramForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    RecurrentModel,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
    WordTokenizer,
)
from hf_lecture_models.base.travelling_guards import align, refuse_missing, refuse_non_finite
from hf_lecture_models.hub import export

SPECIAL = {"bos_token_id": 17, "eos_token_id": 18, "pad_token_id": 19}


def recurrent(cls=RecurrentForCausalLM, **fields):
    torch.manual_seed(0)
    return cls(
        RecurrentConfig(**{"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, **SPECIAL, **fields})
    ).eval()


def gpt1(**fields):
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 16}
    return Gpt1ForCausalLM(Gpt1Config(**{"vocab_size": 20, **sizes, **SPECIAL, **fields})).eval()


def weights(folder):
    return {path.name for path in folder.glob("*model*") if path.name != "config.json"}


OTHERS = {
    "model_ema.safetensors",
    "model-best.safetensors",
    "model-00001-of-00002-old.safetensors",
    "model.safetensors.index.json.bak",
    "pytorch_model.bin",
    "adapter_model.safetensors",
}


def test_a_save_removes_what_it_replaces_and_nothing_else(tmp_path):
    model = recurrent()
    for name in OTHERS:
        (tmp_path / name).write_bytes(b"kept")
    for variant in ("fp16", "ema"):
        model.save_pretrained(tmp_path, variant=variant)
    whole = {"model.safetensors", "model.fp16.safetensors", "model.ema.safetensors"}
    model.save_pretrained(tmp_path)
    assert weights(tmp_path) == OTHERS | whole
    # transformers itself would leave the whole file beside the shards, and then load that, the older one.
    with torch.no_grad():
        model.lm_head.bias += 1
    model.save_pretrained(tmp_path, max_shard_size=1000)
    shards = {name for name in weights(tmp_path) if "-of-0" in name} - OTHERS
    assert weights(tmp_path) == OTHERS | (whole - {"model.safetensors"}) | shards | {"model.safetensors.index.json"}
    assert len(shards) > 2
    assert torch.equal(RecurrentForCausalLM.from_pretrained(tmp_path).lm_head.bias, model.lm_head.bias)
    old = RecurrentForCausalLM.from_pretrained(tmp_path, variant="fp16").lm_head.bias
    assert torch.equal(old + 1, model.lm_head.bias)
    model.save_pretrained(tmp_path, variant="fp16", max_shard_size=1000)
    index = "model.safetensors.index.fp16.json"
    variant_shards = {name.replace("model-", "model.fp16-") for name in shards}
    expected = OTHERS | {"model.ema.safetensors"} | shards | {"model.safetensors.index.json"} | variant_shards | {index}
    assert weights(tmp_path) == expected
    assert torch.equal(RecurrentForCausalLM.from_pretrained(tmp_path, variant="fp16").lm_head.bias, model.lm_head.bias)
    for variant in (None, "fp16"):
        model.save_pretrained(tmp_path, variant=variant)
    assert weights(tmp_path) == OTHERS | whole
    assert all((tmp_path / name).read_bytes() == b"kept" for name in OTHERS)


def test_an_export_removes_what_it_replaces_and_nothing_else(tmp_path):
    model = recurrent()
    model.save_pretrained(tmp_path, max_shard_size=1000)
    model.save_pretrained(tmp_path, variant="fp16")
    (tmp_path / "model_ema.safetensors").write_bytes(b"kept")
    export(model, None, tmp_path)
    assert {path.name for path in tmp_path.glob("*.safetensors*")} == {
        "model.safetensors",
        "model.fp16.safetensors",
        "model_ema.safetensors",
    }


@pytest.mark.parametrize("build", [recurrent, gpt1])
def test_a_vocabulary_cut_below_its_special_tokens_is_not_saved(tmp_path, build):
    model = build()
    model.resize_token_embeddings(12)
    with pytest.raises(ValueError, match="not saved: .*_token_id is 1[789], outside the vocabulary of 12"):
        model.save_pretrained(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    for name in SPECIAL:
        setattr(model.config, name, None)
        setattr(model.generation_config, name, None)
    model.save_pretrained(tmp_path)
    assert AutoModelForCausalLM.from_pretrained(tmp_path).config.vocab_size == 12


@pytest.mark.parametrize(
    ("build", "field", "value", "message"),
    [
        (recurrent, "hidden_size", 9, r"lm_head.weight has shape \(20, 8\), but the configuration, .* \(20, 9\)"),
        (recurrent, "vocab_size", 21, r"lm_head.bias has shape \(20,\), .* \(21,\)"),
        (gpt1, "max_position_embeddings", 17, r"embed_positions.weight has shape \(16, 8\), .* \(17, 8\)"),
        (
            lambda: BagOfWordsForSequenceClassification(BagOfWordsConfig(vocab_size=9)),
            "num_labels",
            3,
            r"model.bias has shape \(2,\), .* \(3,\)",
        ),
    ],
)
def test_a_configuration_changed_after_the_model_was_built_is_not_saved(tmp_path, build, field, value, message):
    model = build()
    before = getattr(model.config, field)
    setattr(model.config, field, value)
    for options in ({}, {"state_dict": model.state_dict()}):
        with pytest.raises(ValueError, match=message):
            model.save_pretrained(tmp_path / "model", **options)
    assert not list(tmp_path.iterdir())
    setattr(model.config, field, before)
    model.save_pretrained(tmp_path)
    type(model).from_pretrained(tmp_path)


def saved_with_other_config(folder, model, save_options=(), **fields):
    model.save_pretrained(folder, **dict(save_options))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | fields), encoding="utf-8")


LAYOUTS = [{}, {"max_shard_size": 500}, {"variant": "fp16"}, {"variant": "fp16", "max_shard_size": 500}]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hidden_size": 4096}, r"lm_head.weight has shape \(20, 8\) in the weights file, .* \(20, 4096\)"),
        ({"num_hidden_layers": 100}, "lacks tensors: model.layers.1.rnn.bias_hh_l0, .* and 391 more"),
        ({"vocab_size": 2**25}, r"lm_head.bias has shape \(20,\) .* \(33554432,\)"),
    ],
)
def test_other_sizes_are_refused_before_anything_is_loaded(tmp_path, monkeypatch, layout, fields, message):
    saved_with_other_config(tmp_path, recurrent(), layout, **fields)
    allocated = []
    monkeypatch.setattr(RecurrentForCausalLM, "_move_missing_keys_from_meta_to_device", lambda *a: allocated.append(a))
    options = {"variant": layout["variant"]} if "variant" in layout else {}
    with pytest.raises(ValueError, match=message):
        RecurrentForCausalLM.from_pretrained(tmp_path, **options)
    assert not allocated


@pytest.mark.parametrize("stored", ["I32", "U32"])
@pytest.mark.parametrize("max_shard_size", ["1GB", 500])
def test_integers_in_the_place_of_floating_numbers_are_refused(tmp_path, stored, max_shard_size):
    """A damaged header may name another type of the same width; the bits would be read as numbers of that type."""
    model = recurrent()
    model.save_pretrained(tmp_path, max_shard_size=max_shard_size)
    change_type(tmp_path, "lm_head.weight", stored)
    name = {"I32": "int32", "U32": "uint32"}[stored]
    message = f"lm_head.weight is of type {name} in the weights file, but the model's is "
    with pytest.raises(ValueError, match=message):
        RecurrentForCausalLM.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match=message):
        RecurrentForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)
    change_type(tmp_path, "lm_head.weight", "F32")
    RecurrentForCausalLM.from_pretrained(tmp_path)


def test_floating_numbers_in_the_place_of_integers_are_refused(tmp_path):
    tokenizer = WordTokenizer.train(["a b", "b c"], progress=False)
    NGramForCausalLM.fit(["a b", "b c"], tokenizer, order=2, smoothing="kneser_ney").save_pretrained(tmp_path)
    header, _ = header_and_rest(tmp_path / "model.safetensors")
    name = next(name for name, entry in header.items() if entry.get("dtype") == "I64")
    change_type(tmp_path, name, "F64")
    with pytest.raises(ValueError, match=f"{name} is of type float64 in the weights file, but the model's is int64"):
        NGramForCausalLM.from_pretrained(tmp_path)


def header_and_rest(file):
    content = file.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), content[end:]


def change_type(folder, name, dtype):
    for file in folder.glob("*.safetensors"):
        header, rest = header_and_rest(file)
        if name in header:
            header[name]["dtype"] = dtype
            encoded = json.dumps(header).encode()
            encoded += b" " * (-len(encoded) % 8)
            file.write_bytes(len(encoded).to_bytes(8, "little") + encoded + rest)


def test_other_shapes_are_a_runtime_error_as_in_transformers(tmp_path):
    """Programs that catch transformers' own error catch this one too; it is still a ValueError."""
    fields = {"n_embd": 8, "n_layer": 1, "n_head": 2, "bos_token_id": None, "eos_token_id": None}
    for model in (recurrent(), GPT2LMHeadModel(GPT2Config(vocab_size=20, **fields))):
        saved_with_other_config(tmp_path, model, vocab_size=21)
        with pytest.raises(RuntimeError, match="has shape|ignore_mismatched_sizes") as caught:
            type(model).from_pretrained(tmp_path)
        assert isinstance(caught.value, ValueError) == (type(model) is RecurrentForCausalLM)


@pytest.mark.parametrize("is_quantized", [True, False])
@pytest.mark.parametrize("missing", ["lm_head.input_scale", "lm_head.bias"])
def test_what_a_quantiser_adds_is_not_missed(missing, is_quantized):
    """Scales that no checkpoint holds; what the model itself has, a checkpoint still must hold."""
    model = recurrent()
    model.lm_head.register_buffer("input_scale", torch.ones(()))
    model.config.architectures, model.is_quantized = [type(model).__name__], is_quantized
    if is_quantized and missing == "lm_head.input_scale":
        refuse_missing(model, {"missing_keys": {missing}}, "the checkpoint")
        return
    with pytest.raises(ValueError, match=f"lacks tensors: {missing}"):
        refuse_missing(model, {"missing_keys": {missing}}, "the checkpoint")


def test_a_pickle_is_looked_at_first_too(tmp_path, monkeypatch):
    model = recurrent()
    saved_with_other_config(tmp_path, model, hidden_size=4096)
    (tmp_path / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    monkeypatch.setattr(
        RecurrentForCausalLM, "_move_missing_keys_from_meta_to_device", lambda *a: pytest.fail("loaded")
    )
    with pytest.raises(ValueError, match=r"has shape .* in the weights file"):
        RecurrentForCausalLM.from_pretrained(tmp_path)


class Opened(Exception):
    """What a pickle calls when it is opened with trust."""


class Trap:
    def __reduce__(self):
        return Opened, ()


def _cut(path, tensors):
    torch.save(tensors, path)
    path.write_bytes(path.read_bytes()[:1000])


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (_cut, "Error"),
        (lambda path, tensors: path.touch(), "EOFError"),
        (lambda path, tensors: path.write_text("version https://git-lfs.github.com/spec/v1"), "UnpicklingError"),
        (lambda path, tensors: torch.save({**tensors, "more": Trap()}, path), "UnpicklingError: Weights only load"),
        (lambda path, tensors: torch.save(list(tensors.values()), path), "it holds a list, no named tensors"),
        (lambda path, tensors: torch.save({1: tensors["lm_head.bias"]}, path), "it holds a dict, no named tensors"),
    ],
)
def test_a_pickle_that_holds_no_weights_is_named(tmp_path, write, reason):
    model = recurrent()
    model.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    write(tmp_path / "pytorch_model.bin", model.state_dict())
    with pytest.raises(ValueError, match=f"pytorch_model.bin cannot be read: it is damaged, or holds more .*{reason}"):
        RecurrentForCausalLM.from_pretrained(tmp_path)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_pickle_of_weights_loads(tmp_path, zipped):
    model = recurrent()
    model.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    for options in ({}, {"use_safetensors": False}):
        found = RecurrentForCausalLM.from_pretrained(tmp_path, **options).state_dict()
        assert all(torch.equal(found[name], tensor) for name, tensor in model.state_dict().items())


def test_numbers_that_a_narrow_type_cannot_hold_are_refused(tmp_path):
    model = recurrent()
    with torch.no_grad():
        model.lm_head.weight[0, 0] = 1e5
    model.save_pretrained(tmp_path)
    RecurrentForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)
    with pytest.raises(ValueError, match="infinite values in lm_head.weight; .*, or float16 cannot hold its numbers"):
        RecurrentForCausalLM.from_pretrained(tmp_path, dtype=torch.float16)


def test_a_base_model_and_a_new_head_still_load(tmp_path):
    base = recurrent(RecurrentModel)
    base.save_pretrained(tmp_path)
    model, info = RecurrentForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert info["missing_keys"] == {"lm_head.weight", "lm_head.bias"}
    assert torch.equal(model.model.embed_tokens.weight, base.embed_tokens.weight)
    saved_with_other_config(tmp_path, recurrent(), vocab_size=24)
    _, info = RecurrentForCausalLM.from_pretrained(tmp_path, ignore_mismatched_sizes=True, output_loading_info=True)
    assert {name for name, *_ in info["mismatched_keys"]} == {
        "lm_head.weight",
        "lm_head.bias",
        "model.embed_tokens.weight",
    }


def test_either_of_two_tied_weights_is_enough(tmp_path):
    model = gpt1()
    model.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["lm_head.weight"] = tensors.pop("model.embed_tokens.weight")
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    loaded = Gpt1ForCausalLM.from_pretrained(tmp_path)
    assert torch.equal(loaded.model.embed_tokens.weight, model.model.embed_tokens.weight)
    assert loaded.lm_head.weight is loaded.model.embed_tokens.weight


class Quantised(torch.Tensor):
    """Integers and a scale that stand for a matrix, as quantisation libraries keep them; it cannot be added up."""

    @staticmethod
    def __new__(cls, integers, scale):
        return torch.Tensor._make_wrapper_subclass(cls, integers.shape, dtype=scale.dtype)

    def __init__(self, integers, scale):
        self.integers, self.scale = integers, scale

    def __tensor_flatten__(self):
        return ["integers", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, parts, *_):
        return cls(parts["integers"], parts["scale"])

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.detach.default:
            return cls(args[0].integers, args[0].scale)
        raise NotImplementedError(f"{function} of quantised weights")


def test_quantised_weights_are_checked_by_their_parts():
    model = recurrent()
    integers = torch.ones(20, 8, dtype=torch.int8)
    model.lm_head.weight = nn.Parameter(Quantised(integers, torch.ones(20, 1)))
    refuse_non_finite(model, "it")
    align(model)
    assert torch.equal(model.lm_head.weight.integers, integers)
    model.lm_head.weight = nn.Parameter(Quantised(integers, torch.full((20, 1), float("nan"))))
    with pytest.raises(ValueError, match="it holds NaN or infinite values in lm_head.weight"):
        refuse_non_finite(model, "it")


def test_weights_of_eight_bits_are_checked():
    model = recurrent()
    for value in (1.0, float("nan")):
        small = torch.full((20, 8), value).to(torch.float8_e4m3fn)
        model.lm_head.weight = nn.Parameter(small, requires_grad=False)
        if value == 1:
            refuse_non_finite(model, "it")
    with pytest.raises(ValueError, match="lm_head.weight; .*float8_e4m3fn cannot hold its numbers"):
        refuse_non_finite(model, "it")


def test_a_sum_that_overflows_is_no_infinite_weight():
    model = recurrent()
    with torch.no_grad():
        model.lm_head.weight.fill_(3e38)
    refuse_non_finite(model, "it")


def test_weights_without_values_are_not_saved(tmp_path):
    with torch.device("meta"):
        model = recurrent()
    with pytest.raises(ValueError, match="lm_head.bias is on the meta device|is on the meta device, without values"):
        model.save_pretrained(tmp_path / "model")
    accelerate = pytest.importorskip("accelerate")
    model = gpt1()
    expected = copy.deepcopy(model.state_dict())
    accelerate.cpu_offload(model, torch.device("cpu"))
    with pytest.raises(ValueError, match=r"take it back first: accelerate.hooks.remove_hook_from_submodules\(model\)"):
        model.save_pretrained(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    accelerate.hooks.remove_hook_from_submodules(model)
    model.save_pretrained(tmp_path)
    found = Gpt1ForCausalLM.from_pretrained(tmp_path).state_dict()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())


def test_a_device_map_that_tears_tied_weights_apart_is_refused(tmp_path):
    """accelerate would fail, with a KeyError or a weight that is not there."""
    pytest.importorskip("accelerate")
    gpt1().save_pretrained(tmp_path / "model")
    for places in (("cpu", "disk"), ("disk", "cpu")):
        device_map = dict(zip(("model", "lm_head"), places, strict=True))
        with pytest.raises(ValueError, match="device_map puts lm_head.weight on .*, but they are one matrix"):
            Gpt1ForCausalLM.from_pretrained(tmp_path / "model", device_map=device_map, offload_folder=tmp_path / "off")
    gpt1(tie_word_embeddings=False).save_pretrained(tmp_path / "model")
    Gpt1ForCausalLM.from_pretrained(tmp_path / "model", device_map=device_map, offload_folder=tmp_path / "off")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("transformer.h.0.ln_1.weight", r"model.layers.0.attention_norm.weight has shape \(7,\)"),
        # It is transposed while it is loaded, and compared afterwards.
        ("transformer.h.0.mlp.c_fc.weight", r"model.layers.0.ffn.up_proj.weight has shape \(32, 7\)"),
    ],
)
def test_other_shapes_of_an_official_checkpoint(tmp_path, name, message):
    sizes = {"vocab_size": 20, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16}
    OpenAIGPTLMHeadModel(OpenAIGPTConfig(**sizes)).save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors[name] = tensors[name][:7].clone()
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=message):
        Gpt1ForCausalLM.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("built", "changed", "weight"),
    [
        ({}, {"num_hidden_layers": 3}, "asks for a weight model.layers.2"),
        ({}, {"num_hidden_layers": 1}, "asks for no weight model.layers.1"),
        ({}, {"tie_word_embeddings": False}, "asks for a weight lm_head.weight"),
        ({"position_encoding": "alibi"}, {"position_encoding": "learned"}, "asks for a weight model.position_encoding"),
        ({"layer_mix": True}, {"layer_mix": False}, "asks for no weight model.layer_mix"),
    ],
)
def test_weights_that_the_changed_configuration_does_not_name_are_not_saved(tmp_path, built, changed, weight):
    sizes = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = SelfAttentionForCausalLM(SelfAttentionConfig(**sizes, **built))
    for name, value in changed.items():
        setattr(model.config, name, value)
    with pytest.raises(ValueError, match=weight):
        model.save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_an_adapter_is_saved_beside_weights_whose_names_it_changed(tmp_path):
    peft = pytest.importorskip("peft", minversion=MIN_PEFT_VERSION)
    model = gpt1()
    model.add_adapter(peft.LoraConfig(target_modules="all-linear"))
    model.save_pretrained(tmp_path)
    assert (tmp_path / "adapter_model.safetensors").exists()
