# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Write a language model or a classifier of texts as one ONNX file, which other runtimes and languages run."""

from __future__ import annotations

import copy
import inspect
import logging
import os
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.base.limits import input_limit
from hf_lecture_models.io.files import staged_file

# One file of the format holds no more.
_LARGEST = 2**31 - 2**20
_TOLERANCE = 1e-3


class _Logits(nn.Module):
    """Tensors in, one tensor out, and no cache."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model
        known = inspect.signature(model.forward).parameters
        self.options = {"use_cache": False} if "use_cache" in known else {}
        reads_types = "token_type_ids" in known and getattr(model.config, "type_vocab_size", 1) > 1
        self.inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if reads_types else [])]

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        inputs = dict(zip(self.inputs, (input_ids, attention_mask, token_type_ids), strict=False))
        return self.model(**inputs, **self.options).logits


def export_onnx(model: Any, path: str | os.PathLike[str]) -> float | None:
    """Write `model` in float32, with free batch size and length, for positions that it computes all at once.

    Inputs of the file: `input_ids` and `attention_mask` (batch, seq), int64, 1 = real token; of a model that tells the
    texts of a pair apart `token_type_ids` too. Output: `logits`, as the model's own: (batch, seq, vocab_size) of a
    language model (the adaptive softmax gives log-probabilities), (batch, num_labels) of a classifier. Where
    onnxruntime is installed, the file is run at three other shapes, with padding, before it gets its name.

    Args:
        model: a causal language model, but not an n-gram, or a sequence classifier.
        path: the file; replaced whole, or untouched when anything fails.

    Returns:
        The largest difference of logits, of real tokens alone, that was seen; None if onnxruntime is not installed.

    Raises:
        ImportError: onnx or onnxscript is not installed.
        ValueError: a model of counts; one of over 2 GiB; or the file gives other logits than the model.
        OSError: the file cannot be written.
    """
    _refuse(model)
    logits = _Logits(copy.deepcopy(model).float()).eval()
    with staged_file(path) as stage:
        _export(logits, stage)
        if find_spec("onnxruntime") is None:
            return None
        difference = _largest_difference(logits, stage)
        if not difference <= _TOLERANCE:
            raise ValueError(f"{path} is not written: its logits would differ from the model's by {difference:.2g}")
    return difference


def _refuse(model: Any) -> None:
    for name in ("onnx", "onnxscript"):
        if find_spec(name) is None:
            raise ImportError(f"ONNX files need {name}: pip install -e '.[interop]', or pip install onnx onnxscript")
    size = 4 * sum(parameter.numel() for parameter in model.parameters())
    if size == 0:
        raise ValueError(f"{type(model).__name__} holds tables of counts, no neural network: write an ARPA file")
    if size > _LARGEST:
        raise ValueError(f"the model takes {size / 2**30:.1f} GiB in float32; one ONNX file holds less than 2 GiB")


def _export(logits: _Logits, path: Path) -> None:
    # It tells of packages that have nothing to do with these models, and of names that it does not use.
    for name in ("torch.onnx", "onnxscript", "onnx_ir"):
        logging.getLogger(name).setLevel(logging.ERROR)
    batch, seq = torch.export.Dim("batch"), torch.export.Dim("seq")
    shapes = {name: {0: batch, 1: seq} for name in logits.inputs}
    ids = torch.zeros(2, 5, dtype=torch.long)
    example = (ids, torch.ones_like(ids), torch.zeros_like(ids))[: len(shapes)]
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            logits, example, dynamo=True, dynamic_shapes=shapes, output_names=["logits"], verbose=False
        )
    assert program is not None
    program.save(str(path), external_data=False)


def _largest_difference(logits: _Logits, path: Path) -> float:
    from onnxruntime import InferenceSession

    session = InferenceSession(str(path), providers=["CPUExecutionProvider"])
    config, largest = logits.model.config, torch.zeros(())
    longest = input_limit(logits.model) or 19
    for rows, length in ((1, 1), (3, min(7, longest)), (4, min(19, longest))):
        ids = torch.arange(rows * length).view(rows, length) % config.vocab_size
        # The first row has padding on the left, the second on the right.
        mask = torch.ones(rows, length, dtype=torch.long)
        mask[0, : length // 2] = mask[1:2, length - length // 3 :] = 0
        inputs = [ids, mask, torch.arange(length).expand(rows, length) % 2][: len(logits.inputs)]
        found = session.run(None, dict(zip(logits.inputs, (tensor.numpy() for tensor in inputs), strict=True)))[0]
        with torch.no_grad():
            differences = (torch.from_numpy(found) - logits(*inputs)).abs()
        if differences.dim() == 3:
            differences = differences[mask.bool()]
        largest = torch.maximum(largest, differences.max())
    return float(largest)
