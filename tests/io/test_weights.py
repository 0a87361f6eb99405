# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which files an index of shards may name."""

import json
import shutil

import pytest
import torch
from transformers import BertConfig, BertModel

from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM, WordTokenizer
from hf_lecture_models.io.saved_json import refuse_outside_shards
from hf_lecture_models.loading import load_model


@pytest.mark.parametrize("shard", ["../x", "/x", "a/../../x", "..\\x", "C:\\x", "C:x", "\\\\host\\x", "..", 3, None])
@pytest.mark.parametrize("name", ["model.safetensors.index.json", "pytorch_model.bin.index.fp16.json"])
def test_an_index_that_names_other_places_is_refused(tmp_path, shard, name):
    (tmp_path / name).write_text(json.dumps({"weight_map": {"a": "model-00001-of-00001.safetensors", "b": shard}}))
    with pytest.raises(ValueError, match=f"{name} names the file .*, which is not within its folder"):
        refuse_outside_shards(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weight_map": 3}', '{"weight_map": {"a": [1]}}', "\ud800"])
def test_a_damaged_index_is_named(tmp_path, text):
    path = tmp_path / "model.safetensors.index.json"
    path.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(ValueError, match=f"{path} is no index of shards"):
        refuse_outside_shards(tmp_path)


def test_shards_within_the_folder_are_let_through(tmp_path):
    refuse_outside_shards(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "b.safetensors"}}))
    (tmp_path / "tf_model.h5.index.json").write_text(json.dumps({"weight_map": {"a": "weights/b..c", "b": "x.y"}}))
    refuse_outside_shards(tmp_path)


TOKENIZER = WordTokenizer.train(["a b"], progress=False)
SIZES = {"hidden_size": 4, "num_hidden_layers": 1, "vocab_size": len(TOKENIZER)}
BERT = BertConfig(**SIZES, num_attention_heads=2, intermediate_size=8)


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("build", [lambda: RecurrentForCausalLM(RecurrentConfig(**SIZES)), lambda: BertModel(BERT)])
def test_a_model_with_a_shard_elsewhere_is_not_loaded(tmp_path, build, absolute):
    """transformers itself follows the index wherever it leads."""
    model, folder = build(), tmp_path / "model"
    model.save_pretrained(folder, max_shard_size=200)
    TOKENIZER.save_pretrained(folder)
    load_model(str(folder))
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    moved = sorted(set(index["weight_map"].values()))[0]
    shutil.move(folder / moved, tmp_path / "outside.safetensors")
    place = str(tmp_path / "outside.safetensors") if absolute else "../outside.safetensors"
    index["weight_map"] = {name: place if file == moved else file for name, file in index["weight_map"].items()}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ValueError, match="which is not within its folder"):
        load_model(str(folder))
    if isinstance(model, BertModel):
        found = BertModel.from_pretrained(folder).state_dict()
        assert all(torch.equal(found[name], tensor) for name, tensor in model.state_dict().items())
        return
    with pytest.raises(ValueError, match="which is not within its folder"):
        RecurrentForCausalLM.from_pretrained(folder)
    shutil.move(folder, tmp_path / "sub")
    with pytest.raises(ValueError, match="which is not within its folder"):
        RecurrentForCausalLM.from_pretrained(tmp_path, subfolder="sub")
