# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Two layers with one matrix: files and models in which theirs differ are refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from hf_lecture_models import (
    Gpt1Config,
    Gpt1ForCausalLM,
    Gpt1ForSequenceClassification,
    ImageCaptioningConfig,
    ImageCaptioningForConditionalGeneration,
    LectureTransformerConfig,
    LectureTransformerForConditionalGeneration,
    TransfoXLConfig,
    TransfoXLLMHeadModel,
)

SHAPE: dict[str, Any] = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
IMAGES: dict[str, Any] = {"image_size": 8, "patch_size": 4, "intermediate_size": 8}


def gpt1(**fields: Any) -> Gpt1ForCausalLM:
    return Gpt1ForCausalLM(Gpt1Config(**SHAPE | fields)).eval()


def transformer(**fields: Any) -> LectureTransformerForConditionalGeneration:
    return LectureTransformerForConditionalGeneration(LectureTransformerConfig(**SHAPE | fields)).eval()


def write_all(model: Any, folder: Path, changed: str, form: str) -> None:
    """Save a model with all names of its tied matrices in the file, one of them with other numbers."""
    model.save_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    for one, other in model.all_tied_weights_keys.items():
        tensors[one] = tensors[other].clone()
    tensors[changed] = tensors[changed] + 1
    if form == "bin":
        (folder / "model.safetensors").unlink()
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize("form", ["safetensors", "bin"])
@pytest.mark.parametrize(
    ("build", "changed"),
    [
        (gpt1, "lm_head.weight"),
        (transformer, "lm_head.weight"),
        (transformer, "model.decoder.embed_tokens.weight"),
        (lambda: transformer(decoder_vocab_size=18), "lm_head.weight"),
        (lambda: ImageCaptioningForConditionalGeneration(ImageCaptioningConfig(**SHAPE | IMAGES)), "lm_head.weight"),
        (lambda: TransfoXLLMHeadModel(TransfoXLConfig(**SHAPE, mem_len=4)), "lm_head.words.0.weight"),
    ],
)
def test_files_in_which_tied_matrices_differ_are_refused(
    build: Callable[[], Any], changed: str, form: str, tmp_path: Path
) -> None:
    """transformers unties them with a line in its log; a later resize would keep one of the two."""
    model = build()
    write_all(model, tmp_path, changed, form)
    with pytest.raises(ValueError, match=rf"{changed} and .* differ in the weights file.*tie_word_embeddings=False"):
        type(model).from_pretrained(tmp_path)
    untied = type(model).from_pretrained(tmp_path, tie_word_embeddings=False)
    assert torch.equal(untied.get_parameter(changed), model.get_parameter(changed) + 1)


@pytest.mark.parametrize("form", ["safetensors", "bin"])
def test_files_with_equal_copies_load_tied(form: str, tmp_path: Path) -> None:
    """Official checkpoints hold both names."""
    model = transformer()
    write_all(model, tmp_path, "lm_head.bias", form)
    loaded = type(model).from_pretrained(tmp_path)
    assert loaded.lm_head.weight is loaded.model.encoder.embed_tokens.weight is loaded.model.decoder.embed_tokens.weight


@pytest.mark.parametrize("given", [False, True])
def test_a_model_whose_tied_matrices_differ_is_not_saved(given: bool, tmp_path: Path) -> None:
    model = gpt1()
    model.lm_head.weight = nn.Parameter(model.lm_head.weight + 1)
    tensors = {"state_dict": dict(model.state_dict())} if given else {}
    with pytest.raises(ValueError, match=r"lm_head.weight and model.embed_tokens.weight differ.*tie_word_embeddings"):
        model.save_pretrained(tmp_path / "model", **tensors)
    assert not (tmp_path / "model").exists()
    model.config.tie_word_embeddings = False
    model.save_pretrained(tmp_path, **tensors)
    loaded = Gpt1ForCausalLM.from_pretrained(tmp_path)
    ids = torch.tensor([[3, 1, 4]])
    assert torch.equal(loaded(ids).logits, model(ids).logits)
    model.config.tie_word_embeddings = True
    model.tie_weights()
    model.save_pretrained(tmp_path)
    assert Gpt1ForCausalLM.from_pretrained(tmp_path).lm_head.weight.shape == (20, 8)


class Adapter(nn.Module):
    """Laid out as an adapter of peft: the layer that it adapts is its `base_layer`."""

    def __init__(self, base_layer: nn.Module) -> None:
        super().__init__()
        self.base_layer = base_layer


def test_adapters_take_no_place_of_a_tied_layer(tmp_path: Path) -> None:
    """Whichever of the layers, and however the model came to be; tests/interop/test_peft.py has peft's own."""
    model = gpt1()
    model.save_pretrained(tmp_path)
    for each in (model, copy.deepcopy(model), Gpt1ForCausalLM.from_pretrained(tmp_path)):
        with pytest.raises(ValueError, match=r"an adapter \(Adapter\) on lm_head, whose matrix is also model.embed_to"):
            each.lm_head = Adapter(each.lm_head)
        with pytest.raises(ValueError, match=r"on embed_tokens, whose matrix is also lm_head.weight .*modules_to_save"):
            each.model.embed_tokens = Adapter(each.model.embed_tokens)
        assert isinstance(each.lm_head, nn.Linear)
        each.model.layers[0].self_attn.o_proj = Adapter(each.model.layers[0].self_attn.o_proj)
    translator = transformer()
    for part in (translator.model.encoder, translator.model.decoder):
        with pytest.raises(ValueError, match="on embed_tokens, whose matrix is also"):
            part.embed_tokens = Adapter(part.embed_tokens)


def test_adapters_take_the_place_of_layers_with_a_matrix_of_their_own() -> None:
    untied, classifier = gpt1(tie_word_embeddings=False), Gpt1ForSequenceClassification(Gpt1Config(**SHAPE))
    untied.lm_head = Adapter(untied.lm_head)
    for model in (untied, classifier):
        model.model.embed_tokens = Adapter(model.model.embed_tokens)
        assert isinstance(model.model.embed_tokens, Adapter)
