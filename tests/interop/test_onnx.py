# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ONNX: each neural model gives the same numbers at any batch size and length, with padding anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import AutoModelForCausalLM

from hf_lecture_models import (
    BagOfWordsConfig,
    BagOfWordsForSequenceClassification,
    Gpt1Config,
    Gpt1ForMultipleChoice,
    Gpt1ForSequenceClassification,
    LayerPerInputConfig,
    LayerPerInputForSequenceClassification,
    NGramConfig,
    NGramForCausalLM,
    PaddedMlpConfig,
    PaddedMlpForSequenceClassification,
    RecurrentConfig,
    RecurrentModel,
)
from hf_lecture_models.cli import convert
from hf_lecture_models.hub.onnx import export_onnx
from tests.interop.small_models import save_small_model, small_model, small_tokenizer
from tests.stand_in import (
    EncoderConfig,
    EncoderForMaskedLM,
    EncoderForMultipleChoice,
    EncoderForQuestionAnswering,
    EncoderForTokenClassification,
    EncoderModel,
    encoder_tokenizer,
)
from tests.tasks.small_classifier import small_bert

pytestmark = pytest.mark.slow

SWISH = {"layer_mix": True, "hidden_act": "swish", "norm_position": "post"}
ONE = {"num_hidden_layers": 1}  # a loop over time takes long to export
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt1": ("gpt1", {}),
    "sinusoidal": ("self_attention", {"position_encoding": "sinusoidal"}),
    "learned": ("self_attention", {"position_encoding": "learned", **SWISH}),
    "relative": ("self_attention", {"position_encoding": "relative"}),
    "alibi": ("self_attention", {"position_encoding": "alibi"}),
    "feed-forward": ("feed_forward", {"direct_connections": True}),
    "feed-forward, adaptive, no <s>": ("feed_forward", {"output_layer": "adaptive", "bos_token_id": None}),
    "elman, noise contrast": ("recurrent", {"cell_type": "elman", "output_layer": "noise_contrastive", **ONE}),
    "projected lstm": ("recurrent", {"projection_size": 5, "output_projection_size": 9}),
    "gru, adaptive": ("recurrent", {"cell_type": "gru", "output_layer": "adaptive", **ONE}),
    "gru states": ("states", {"cell_type": "gru", **ONE}),
    "bidirectional lstm states": ("states", {"bidirectional": True, **ONE}),
}


class FirstOutput(nn.Module):
    """What ONNX wants: tensors in, one tensor out."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False)[0]


def build(name: str, fields: dict[str, Any]) -> nn.Module:
    if name == "states":
        model: nn.Module = RecurrentModel(RecurrentConfig(vocab_size=17, hidden_size=12, embedding_size=10, **fields))
    else:
        model = small_model(name, small_tokenizer(), hidden_size=12, **fields)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return FirstOutput(model).eval()


def masks(rows: int, length: int) -> dict[str, Tensor]:
    """Padding on the left, on the right, in between, and none; every row has a real token."""
    left = torch.ones(rows, length, dtype=torch.long)
    left[0, : length // 2] = 0
    holes = (torch.rand(rows, length) < 0.6).long()
    holes[:, 0] = 1
    return {"none": torch.ones_like(left), "left": left, "right": left.flip(1), "holes": holes}


@pytest.mark.parametrize(("name", "fields"), CASES.values(), ids=CASES)
def test_equal_at_any_shape(name: str, fields: dict[str, Any], tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = build(name, fields)
    batch, seq = torch.export.Dim("batch"), torch.export.Dim("seq")
    shapes = {"input_ids": {0: batch, 1: seq}, "attention_mask": {0: batch, 1: seq}}
    example = (torch.randint(14, (2, 5)), torch.ones(2, 5, dtype=torch.long))
    program = torch.onnx.export(model, example, dynamo=True, dynamic_shapes=shapes, verbose=False)
    program.save(str(tmp_path / "model.onnx"))
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    for rows, length in ((1, 1), (3, 7), (4, 30)):
        tokens = torch.randint(14, (rows, length))
        for padding, mask in masks(rows, length).items():
            feed = {"input_ids": tokens.numpy(), "attention_mask": mask.numpy()}
            ours = torch.from_numpy(session.run(None, feed)[0])
            with torch.no_grad():
                expected = model(tokens, mask)
            real = mask.bool()
            assert_close(ours[real], expected[real], rtol=0, atol=1e-5, msg=lambda text, p=padding: f"{p}: {text}")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`hf-lecture convert MODEL NAME.onnx`; the file gives what the model gives, and n-grams have another format."""
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    save_small_model(tmp_path / "model", "feed_forward")
    convert.run(str(tmp_path / "model"), tmp_path / "model.onnx")
    assert "differ from the model's by at most" in capsys.readouterr().out
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    assert [given.name for given in session.get_inputs()] == ["input_ids", "attention_mask"]
    assert [found.name for found in session.get_outputs()] == ["logits"]
    tokens = torch.randint(14, (3, 8))
    (logits,) = session.run(None, {"input_ids": tokens.numpy(), "attention_mask": torch.ones_like(tokens).numpy()})
    with torch.no_grad():
        expected = AutoModelForCausalLM.from_pretrained(tmp_path / "model")(tokens).logits
    assert_close(torch.from_numpy(logits), expected, rtol=0, atol=1e-5)
    with pytest.raises(FileExistsError, match="is there already"):
        convert.run(str(tmp_path / "model"), tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="write an ARPA file"):
        export_onnx(NGramForCausalLM(NGramConfig(vocab_size=17, order=2)), tmp_path / "ngram.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "model.onnx"]


@pytest.mark.parametrize("kind", ["ours", "stock"])
def test_a_classifier_gives_the_same_classes(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model: Any = small_bert()
    if kind == "ours":
        model = BagOfWordsForSequenceClassification(BagOfWordsConfig(vocab_size=17, hidden_sizes=[6], num_labels=3))
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.5)
    model.save_pretrained(tmp_path / "model")
    small_tokenizer().save_pretrained(tmp_path / "model")
    convert.run(str(tmp_path / "model"), tmp_path / "model.onnx")
    assert "differ from the model's by at most" in capsys.readouterr().out
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if kind == "stock" else [])]
    assert [given.name for given in session.get_inputs()] == names
    feed = {name: torch.randint(2, (3, 8)) for name in names} | {"input_ids": torch.randint(17, (3, 8))}
    feed["attention_mask"][:, 0] = 1
    (logits,) = session.run(None, {name: tensor.numpy() for name, tensor in feed.items()})
    with torch.no_grad():
        assert_close(torch.from_numpy(logits), model.eval()(**feed).logits, rtol=0, atol=1e-5)


ENCODERS: dict[str, tuple[Any, list[str]]] = {
    "token classification": (EncoderForTokenClassification, ["logits"]),
    "masked words": (EncoderForMaskedLM, ["logits"]),
    "question answering": (EncoderForQuestionAnswering, ["start_logits", "end_logits"]),
    "multiple choice": (EncoderForMultipleChoice, ["logits"]),
    "no head": (EncoderModel, ["last_hidden_state"]),
    "stock next sentences": (transformers.BertForNextSentencePrediction, ["logits"]),
    "stock pre-training": (transformers.BertForPreTraining, ["prediction_logits", "seq_relationship_logits"]),
    "stock multiple choice": (transformers.BertForMultipleChoice, ["logits"]),
    "stock question answering": (transformers.BertForQuestionAnswering, ["start_logits", "end_logits"]),
}


@pytest.mark.parametrize("kind", ENCODERS)
def test_every_head_gives_its_own_outputs(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`hf-lecture convert MODEL NAME.onnx` of any saved class; types of tokens, the axis of choices and padding too."""
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model_class, outputs = ENCODERS[kind]
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    stock = kind.startswith("stock")
    config = transformers.BertConfig(vocab_size=20, **sizes) if stock else EncoderConfig(num_labels=3)
    model = model_class(config).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    model.save_pretrained(tmp_path / "model")
    encoder_tokenizer().save_pretrained(tmp_path / "model")
    convert.run(str(tmp_path / "model"), tmp_path / "model.onnx")
    assert "differ from the model's by at most" in capsys.readouterr().out
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    names = ["input_ids", "attention_mask", "token_type_ids"]
    assert [given.name for given in session.get_inputs()] == names
    assert [found.name for found in session.get_outputs()] == outputs
    shape = (2, 5, 9) if "choice" in kind else (4, 9)
    feed = {name: torch.randint(2, shape) for name in names} | {"input_ids": torch.randint(18, shape)}
    feed["attention_mask"][..., 0] = 1
    found = session.run(None, {name: tensor.numpy() for name, tensor in feed.items()})
    with torch.no_grad():
        expected = model(**feed)
    for name, ours in zip(outputs, found, strict=True):
        theirs, given = expected[name], torch.from_numpy(ours)
        if theirs.shape[:2] == feed["attention_mask"].shape:
            theirs, given = (tensor[feed["attention_mask"].bool()] for tensor in (theirs, given))
        assert_close(given, theirs, rtol=0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("both_orders", [False, True])
@pytest.mark.parametrize("model_class", [Gpt1ForSequenceClassification, Gpt1ForMultipleChoice])
def test_heads_that_read_special_tokens(model_class: type, both_orders: bool, tmp_path: Path) -> None:
    """The invented rows that a file is compared with hold GPT-1's Extract, and its Delim for pairs in both orders."""
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    sizes = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "num_labels": 3}
    special = {"extract_token_id": 1, "delim_token_id": 3, "both_orders": both_orders}
    model = model_class(Gpt1Config(**sizes, **special)).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    assert export_onnx(model, tmp_path / "model.onnx") < 1e-4
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    ids = torch.tensor([[9, 5, 3, 6, 7, 1, 0, 0], [9, 4, 4, 3, 8, 8, 2, 1]])
    ids = ids if model_class is Gpt1ForSequenceClassification else ids[None]
    feed = {"input_ids": ids.numpy(), "attention_mask": (ids > 0).long().numpy()}
    with torch.no_grad():
        expected = model(ids, (ids > 0).long()).logits
    assert_close(torch.from_numpy(session.run(None, feed)[0]), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", ["padded", "layer per input"])
def test_a_maximum_length_holds_in_the_file(kind: str, tmp_path: Path) -> None:
    """A text with more words than the network has places for is an error there too, never cut."""
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    fields = {"vocab_size": 17, "max_position_embeddings": 6, "embedding_size": 4, "num_labels": 3, "bos_token_id": 16}
    if kind == "padded":
        model: Any = PaddedMlpForSequenceClassification(PaddedMlpConfig(**fields))
    else:
        model = LayerPerInputForSequenceClassification(LayerPerInputConfig(**fields))
    assert export_onnx(model.eval(), tmp_path / "model.onnx") < 1e-5
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), options, providers=["CPUExecutionProvider"])
    for length in (0, 6, 7, 20):
        ids = torch.cat((torch.full((2, 1), 16), torch.randint(16, (2, length))), 1)
        feed = {"input_ids": ids.numpy(), "attention_mask": torch.ones_like(ids).numpy()}
        if length > 6:
            with pytest.raises(Exception, match="out of data bounds|out of bounds|invalid indic"):
                session.run(None, feed)
            continue
        with torch.no_grad():
            assert_close(torch.from_numpy(session.run(None, feed)[0]), model(ids).logits, rtol=0, atol=1e-5)


def test_what_does_not_read_one_text_or_image_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    shape = {"d_model": 4, "d_ff": 8, "d_kv": 2, "num_heads": 2, "num_layers": 1, "vocab_size": 9}
    pair = transformers.T5ForConditionalGeneration(transformers.T5Config(**shape))
    with pytest.raises(
        ValueError, match="T5ForConditionalGeneration reads a source and writes a target token by token"
    ):
        export_onnx(pair, tmp_path / "model.onnx")
    sizes = {"hidden_sizes": [4, 4], "depths": [1, 1], "embedding_size": 4}
    unsized = transformers.ResNetForImageClassification(transformers.ResNetConfig(**sizes))
    with pytest.raises(ValueError, match="ResNetForImageClassification has no image_size"):
        export_onnx(unsized, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_file_that_differs_is_not_written(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = small_model("feed_forward", small_tokenizer())
    model.model.dropout = Shift()
    with pytest.raises(ValueError, match="not written: its logits would differ"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


class Shift(nn.Module):
    """Something that the exported program does not see."""

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden if torch.compiler.is_exporting() else hidden + 1
