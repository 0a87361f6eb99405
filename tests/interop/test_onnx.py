# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ONNX: each neural model gives the same numbers at any batch size and length, with padding anywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import AutoModelForCausalLM

import hf_lecture_models as ours
from hf_lecture_models import NGramConfig, NGramForCausalLM
from hf_lecture_models.cli import convert
from hf_lecture_models.hub.onnx import export_onnx
from tests.interop.small_models import save_small_model, small_model, small_tokenizer

pytest.importorskip("onnxscript")
onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.slow

Build = Callable[[], Any]


def language_model(name: str, **fields: Any) -> Build:
    return lambda: small_model(name, small_tokenizer(), hidden_size=12, **fields)


def model_of(name: str, config: str, **fields: Any) -> Build:
    """A model class of the package by its name, and its configuration's."""
    return lambda: getattr(ours, name)(getattr(ours, f"{config}Config")(**{"vocab_size": 17, "num_labels": 3} | fields))


def stock(name: str) -> Build:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    return lambda: getattr(transformers, name)(transformers.BertConfig(vocab_size=20, **sizes))


SWISH = {"layer_mix": True, "hidden_act": "swish", "norm_position": "post"}
ONE = {"num_hidden_layers": 1}  # a loop over time takes long to export
RECURRENT = {"hidden_size": 12, "embedding_size": 10}
ELMO = {"vocab_size": 262, "max_characters_per_token": 9, "char_embedding_size": 3, "char_filters": [[1, 2], [4, 3]]}
ELMO |= {"hidden_size": 7, "projection_size": 4, "num_words": 11, "word_vector_size": 5, "task_hidden_size": 6, **ONE}
GPT1 = {"vocab_size": 20, "hidden_size": 8, "num_attention_heads": 2, "extract_token_id": 1, "delim_token_id": 3, **ONE}
PAIRS = {"pooling": "max", "bidirectional": True, "pair_combination": "infersent"}
XL = {"hidden_size": 8, "num_attention_heads": 2, "mem_len": 4, "cutoffs": [5, 10], "div_val": 2, **ONE}


def efficient(kind: str, head: str = "MaskedLM") -> Build:
    """Windows and blocks are longer than some texts and shorter than others."""
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_random_features": 6, "projected_length": 8}
    sizes |= {"window_size": 8, "block_size": 6, "num_random_blocks": 1, "max_position_embeddings": 80}
    fields = {"attention_kind": kind, "bidirectional": head == "MaskedLM", **sizes, **ONE}
    return model_of(f"EfficientTransformerFor{head}", "EfficientTransformer", **fields)


CASES: dict[str, Build] = {
    # Exports of attention in blocks take up to two minutes each.
    "Transformer-XL": model_of("TransfoXLLMHeadModel", "TransfoXL", **XL),
    "Transformer-XL, states": model_of("TransfoXLModel", "TransfoXL", same_length=True, **XL),
    "local, both sides": efficient("local"),
    "random, both sides": efficient("random"),
    "hierarchical, both sides": efficient("hierarchical"),
    "low rank": efficient("low_rank"),
    "linear, both sides": efficient("linear"),
    "performer, both sides": efficient("performer"),
    "hierarchical": efficient("hierarchical", "CausalLM"),
    "linear": efficient("linear", "CausalLM"),
    "performer": efficient("performer", "CausalLM"),
    "hashing": efficient("hashing", "CausalLM"),
    "hashing, both sides": efficient("hashing"),
    "local": efficient("local", "CausalLM"),
    "random": efficient("random", "CausalLM"),
    "gpt1": language_model("gpt1"),
    "sinusoidal": language_model("self_attention", position_encoding="sinusoidal"),
    "learned": language_model("self_attention", position_encoding="learned", **SWISH),
    "relative": language_model("self_attention", position_encoding="relative"),
    "alibi": language_model("self_attention", position_encoding="alibi"),
    "feed-forward": language_model("feed_forward", direct_connections=True),
    "feed-forward, adaptive, no <s>": language_model("feed_forward", output_layer="adaptive", bos_token_id=None),
    "elman, noise contrast": language_model("recurrent", cell_type="elman", output_layer="noise_contrastive", **ONE),
    "projected lstm": language_model("recurrent", projection_size=5, output_projection_size=9),
    "gru, adaptive": language_model("recurrent", cell_type="gru", output_layer="adaptive", **ONE),
    "gru states": model_of("RecurrentModel", "Recurrent", cell_type="gru", **RECURRENT, **ONE),
    "bidirectional lstm states": model_of("RecurrentModel", "Recurrent", bidirectional=True, **RECURRENT, **ONE),
    "last state": model_of("RecurrentForSequenceClassification", "Recurrent", **RECURRENT, **ONE),
    "mean state": model_of(
        "RecurrentForSequenceClassification", "Recurrent", pooling="mean", projection_size=5, **RECURRENT
    ),
    "pairs": model_of("RecurrentForSequenceClassification", "Recurrent", **PAIRS, **RECURRENT),
    "bag of words": model_of("BagOfWordsForSequenceClassification", "BagOfWords", bos_token_id=16),
    "deep bag of words": model_of("BagOfWordsForSequenceClassification", "BagOfWords", hidden_sizes=[6, 5]),
    "integers": model_of("BagOfWordsForSequenceClassification", "BagOfWords", input_coding="integer"),
    "word vectors": model_of("Word2VecModel", "Word2Vec", hidden_size=6, unk_token_id=0),
    "elmo": model_of("ElmoModel", "Elmo", **ELMO),
    "elmo, clipped": model_of("ElmoModel", "Elmo", cell_clip=0.3, **ELMO),
    "elmo, pre-training": model_of("ElmoForPreTraining", "Elmo", **ELMO),
    "elmo, classes": model_of("ElmoForSequenceClassification", "Elmo", **ELMO),
    "elmo, tags": model_of("ElmoForTokenClassification", "Elmo", cell_clip=0.3, **ELMO),
    "elmo, answers": model_of("ElmoForQuestionAnswering", "Elmo", **ELMO),
    # The invented rows that a file is compared with hold GPT-1's Extract, and its Delim for pairs in both orders.
    "gpt1, classes": model_of("Gpt1ForSequenceClassification", "Gpt1", both_orders=False, **GPT1),
    "gpt1, choices": model_of("Gpt1ForMultipleChoice", "Gpt1", both_orders=False, **GPT1),
    "gpt1, both orders": model_of("Gpt1ForSequenceClassification", "Gpt1", both_orders=True, **GPT1),
    "gpt1, choices in both orders": model_of("Gpt1ForMultipleChoice", "Gpt1", both_orders=True, **GPT1),
    "stock next sentences": stock("BertForNextSentencePrediction"),
    "stock pre-training": stock("BertForPreTraining"),
    "stock multiple choice": stock("BertForMultipleChoice"),
    "stock question answering": stock("BertForQuestionAnswering"),
    "stock classes": stock("BertForSequenceClassification"),
}


# What CI exports: one of each kind.
CI = (
    *("Transformer-XL", "linear", "gpt1", "relative", "feed-forward", "gru, adaptive", "bag of words", "elmo, tags"),
    *("gpt1, both orders", "stock question answering"),
)


def session_of(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def masks(*shape: int) -> dict[str, Tensor]:
    """Padding on the left, on the right, in between, and none; every row has real tokens of both types."""
    left = torch.ones(shape, dtype=torch.long)
    left[0, ..., : shape[-1] // 2] = 0
    holes = (torch.rand(shape) < 0.6).long()
    holes[..., :2] = 1
    return {"none": torch.ones_like(left), "left": left, "right": left.flip(-1), "holes": holes}


def feed_of(model: Any, names: list[str], mask: Tensor) -> dict[str, Tensor]:
    config, characters = model.config, getattr(model.config, "max_characters_per_token", None)
    shape = mask.shape if characters is None else (*mask.shape, characters)
    ids = torch.randint(4, min(config.vocab_size, 17), shape)
    if getattr(config, "extract_token_id", None) is not None:
        last = (mask * torch.arange(mask.shape[-1])).argmax(-1, keepdim=True)
        ids = ids.scatter(-1, last, config.extract_token_id)
        real = mask.cumsum(-1) * mask  # the second real token of each row, between two others
        ids = ids.masked_fill(real == 2, config.delim_token_id)
    types = (torch.arange(mask.shape[-1]) % 2).expand(mask.shape).contiguous()
    return {name: {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}[name] for name in names}


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=() if name in CI else pytest.mark.nightly) for name in CASES]
)
@torch.no_grad()
def test_equal_at_any_shape(case: str, tmp_path: Path) -> None:
    model = CASES[case]().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    assert export_onnx(model, tmp_path / "model.onnx") < 1e-4
    session = session_of(tmp_path / "model.onnx")
    names, outputs = ([value.name for value in values] for values in (session.get_inputs(), session.get_outputs()))
    assert names == ["input_ids", "attention_mask", "token_type_ids"][: 3 if case == "pairs" or "stock" in case else 2]
    # Causal sums are computed in chunks of 64 tokens.
    for rows, length in ((1, 6), (4, 30), *([(2, 75)] if "attention_kind" in model.config.to_dict() else [])):
        for padding, mask in masks(rows, *([5] if "choice" in case else []), length).items():
            feed = feed_of(model, names, mask)
            expected = model(**feed)
            found = session.run(None, {name: tensor.numpy() for name, tensor in feed.items()})
            assert outputs == [name for name, value in expected.items() if isinstance(value, Tensor)][: len(outputs)]
            for name, values in zip(outputs, map(torch.from_numpy, found), strict=True):
                real = mask.bool() if values.shape[:2] == mask.shape else ...
                message = f"{name}, padding {padding}"
                assert_close(
                    values[real], expected[name][real], rtol=0, atol=1e-4, msg=lambda m, w=message: f"{w}: {m}"
                )


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`hf-lecture convert MODEL NAME.onnx`; the file gives what the model gives, and n-grams have another format."""
    save_small_model(tmp_path / "model", "feed_forward")
    convert.run(str(tmp_path / "model"), tmp_path / "model.onnx")
    assert "differ from the model's by at most" in capsys.readouterr().out
    tokens = torch.randint(14, (3, 8))
    feed = {"input_ids": tokens.numpy(), "attention_mask": torch.ones_like(tokens).numpy()}
    (logits,) = session_of(tmp_path / "model.onnx").run(["logits"], feed)
    with torch.no_grad():
        expected = AutoModelForCausalLM.from_pretrained(tmp_path / "model")(tokens).logits
    assert_close(torch.from_numpy(logits), expected, rtol=0, atol=1e-5)
    with pytest.raises(FileExistsError, match="is there already"):
        convert.run(str(tmp_path / "model"), tmp_path / "model.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "model.onnx"]


@pytest.mark.parametrize("network", ["PaddedMlp", "LayerPerInput"])
def test_a_maximum_length_holds_in_the_file(network: str, tmp_path: Path) -> None:
    """A text with more words than the network has places for is an error there too, never cut."""
    fields = {"max_position_embeddings": 6, "embedding_size": 4, "bos_token_id": 16}
    model = model_of(f"{network}ForSequenceClassification", network, **fields)().eval()
    assert export_onnx(model, tmp_path / "model.onnx") < 1e-5
    session = session_of(tmp_path / "model.onnx")
    for length in (0, 6, 7, 20):
        ids = torch.cat((torch.full((2, 1), 16), torch.randint(16, (2, length))), 1)
        feed = {"input_ids": ids.numpy(), "attention_mask": torch.ones_like(ids).numpy()}
        if length > 6:
            with pytest.raises(Exception, match="out of data bounds|out of bounds|invalid indic"):
                session.run(None, feed)
            continue
        with torch.no_grad():
            assert_close(torch.from_numpy(session.run(None, feed)[0]), model(ids).logits, rtol=0, atol=1e-5)


class Shift(nn.Module):
    """Something that the exported program does not see."""

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden if torch.compiler.is_exporting() else hidden + 1


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    shape = {"d_model": 4, "d_ff": 8, "d_kv": 2, "num_heads": 2, "num_layers": 1, "vocab_size": 9}
    sizes = {"hidden_sizes": [4, 4], "depths": [1, 1], "embedding_size": 4}
    shifted = small_model("feed_forward", small_tokenizer())
    shifted.model.dropout = Shift()
    refused: list[tuple[Any, str]] = [
        (
            transformers.T5ForConditionalGeneration(transformers.T5Config(**shape)),
            "T5ForConditionalGeneration reads a source and writes a target token by token",
        ),
        (
            transformers.ResNetForImageClassification(transformers.ResNetConfig(**sizes)),
            "ResNetForImageClassification has no image_size",
        ),
        (NGramForCausalLM(NGramConfig(vocab_size=17, order=2)), "write an ARPA file"),
        (shifted, "not written: its logits would differ"),
    ]
    for model, message in refused:
        with pytest.raises(ValueError, match=message):
            export_onnx(model, tmp_path / "model.onnx")
        assert not list(tmp_path.iterdir())


def test_an_error_of_torchs_exporter_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise torch.onnx.OnnxExporterError("Failed to export\nsteps\nstack") from ValueError("no such function\nstack")

    monkeypatch.setattr(torch.onnx, "export", fail)
    with pytest.raises(ValueError, match="FeedForwardForCausalLM cannot be written as ONNX by torch") as error:
        export_onnx(small_model("feed_forward", small_tokenizer()), tmp_path / "model.onnx")
    assert "(no such function); use the model itself" in str(error.value)
    assert "\n" not in str(error.value)
