# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Write a model of texts or of images, with any head, as one ONNX file, which other runtimes and languages run."""

import copy
import inspect
import logging
import math
import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForMultipleChoice

from hf_lecture_models.base.limits import input_limit
from hf_lecture_models.base.traits import trait
from hf_lecture_models.io.auto_classes import model_classes
from hf_lecture_models.io.files import staged_file

# One file of the format holds no more.
_LARGEST = 2**31 - 2**20
_TOLERANCE = 1e-3


class _Tensors(nn.Module):
    """A model of texts with tensors in and tensors out, and no cache.

    Attributes:
        inputs, outputs: names of the tensors that it reads and returns.
        per_token: the outputs that begin with the axes (batch, seq), and so have values at padding.
        axes: the free axes of each input.
        shortest: the least length of an `example`: beside padding, two tokens for a model of pairs, and Start, Delim
            and Extract for GPT-1's pairs in both orders.
    """

    def __init__(self, model: Any):
        super().__init__()
        self.model = model
        known = inspect.signature(model.forward).parameters
        self.options = {"use_cache": False} if "use_cache" in known else {}
        self.inputs = ["input_ids", "attention_mask"]
        self.inputs += ["token_type_ids"] if "token_type_ids" in known and trait(model, "type_vocab_size") > 1 else []
        self.has_choices = type(model) in model_classes(AutoModelForMultipleChoice, type(model.config))
        self.shortest = 5 if trait(model, "both_orders") else 1 if trait(model, "pair_combination") is None else 3
        axes = ("batch", "choices", "seq") if self.has_choices else ("batch", "seq")
        self.axes = dict(enumerate(torch.export.Dim(name) for name in axes))
        short, long = (self._outputs(*self.example(2, length)) for length in self._two_lengths())
        self.outputs = list(long)
        self.per_token = [name for name in long if short[name].shape[1] != long[name].shape[1]]

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        return tuple(self._outputs(input_ids, attention_mask, token_type_ids).values())

    def example(self, rows: int, length: int) -> list[Tensor]:
        """Return inputs with padding on the left of the first row, on the right of the second, and two token types."""
        shape = (rows, 3, length) if self.has_choices else (rows, length)
        # ELMo's words are rows of characters.
        characters = trait(self.model, "max_characters_per_token")
        of_words = shape if characters is None else (*shape, characters)
        ids = torch.arange(math.prod(of_words)).view(of_words) % self.model.config.vocab_size
        mask = torch.ones(shape, dtype=torch.long)
        mask[0, ..., : length // 2] = mask[1:2, ..., length - length // 3 :] = 0
        if place := trait(self.model, "place_task_tokens"):
            ids = place(ids, mask)
        return [ids, mask, (torch.arange(length) % 2).expand(shape).contiguous()][: len(self.inputs)]

    def unpadded_example(self) -> tuple[Tensor, ...]:
        """Return inputs to trace the model with, in more than one block where attention is computed in blocks."""
        block = trait(self.model, "attention_block")
        first, *others = self.example(2, min(max(5, block + 1), input_limit(self.model) or sys.maxsize))
        return (first, *map(torch.ones_like, others))

    def _outputs(self, *tensors: Tensor | None) -> dict[str, Tensor]:
        found = self.model(**dict(zip(self.inputs, tensors, strict=False)), **self.options)
        return {name: value for name, value in found.items() if isinstance(value, Tensor)}

    def _two_lengths(self) -> tuple[int, int]:
        longer = self.shortest + 4
        return self.shortest, min(longer, input_limit(self.model) or longer)


class _Images(_Tensors):
    """A model that reads images of one size, with tensors in and tensors out."""

    def __init__(self, model: Any):
        nn.Module.__init__(self)
        self.model, self.options = model, {}
        self.inputs, self.per_token, self.shortest = ["pixel_values"], [], 1
        self.axes = {0: torch.export.Dim("batch")}
        self.outputs = list(self._outputs(*self.example(2, 1)))

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        return tuple(self._outputs(pixel_values).values())

    def example(self, rows: int, length: int) -> list[Tensor]:
        """Return so many images; the length has no effect."""
        config = self.model.config
        shape = (rows, config.num_channels, config.image_size, config.image_size)
        return [torch.linspace(-1, 1, math.prod(shape)).view(shape)]


def export_onnx(model: Any, path: str | os.PathLike[str]) -> float | None:
    """Write `model` in float32, with free batch size and length, for positions that it computes all at once.

    Inputs of the file: `input_ids` and `attention_mask` (batch, seq), int64, 1 = real token, and `token_type_ids` of a
    model that reads them; for multiple choice each is (batch, choices, seq). A model of images reads `pixel_values`
    (batch, channels, height, width), float32, of its own size. Outputs are the model's own, by name (`logits`,
    `start_logits`, `last_hidden_state`); the adaptive softmax gives log-probabilities. Where onnxruntime is installed,
    the file is run at four other shapes, with padding, before it gets its name.

    Args:
        model: a model that reads one text or pair, or images, ours or transformers', but not an n-gram.
        path: the file; replaced whole, or untouched when anything fails.

    Returns:
        The largest difference of outputs at real tokens that was seen; None if onnxruntime is not installed.

    Raises:
        ImportError: onnx or onnxscript is not installed.
        ValueError: a model of counts, or with a decoder beside an encoder; one of over 2 GiB; one that torch cannot
            write; or the file gives other outputs than the model.
        OSError: the file cannot be written.
    """
    _refuse(model)
    with torch.no_grad():
        kind = _Images if model.main_input_name == "pixel_values" else _Tensors
        tensors = kind(copy.deepcopy(model).float().eval())
    with staged_file(path) as stage:
        _export(tensors, stage)
        if find_spec("onnxruntime") is None:
            return None
        differences = _largest_differences(tensors, stage)
        for name, difference in differences.items():
            if not difference <= _TOLERANCE:
                raise ValueError(f"{path} is not written: its {name} would differ from the model's by {difference:.2g}")
    return max(differences.values())


def _refuse(model: Any) -> None:
    for name in ("onnx", "onnxscript"):
        if find_spec(name) is None:
            raise ImportError(f"ONNX files need {name}: pip install -e '.[interop]', or pip install onnx onnxscript")
    size = 4 * sum(parameter.numel() for parameter in model.parameters())
    if size == 0:
        raise ValueError(f"{type(model).__name__} holds tables of counts, no neural network: write an ARPA file")
    if size > _LARGEST:
        raise ValueError(f"the model takes {size / 2**30:.1f} GiB in float32; one ONNX file holds less than 2 GiB")
    if model.main_input_name == "pixel_values" and not isinstance(trait(model, "image_size"), int):
        raise ValueError(f"{type(model).__name__} has no image_size, so that it is not known which images it reads")
    if model.config.is_encoder_decoder:
        raise ValueError(
            f"{type(model).__name__} reads a source and writes a target token by token, which one file cannot hold; "
            "only models that read one text or image are written as ONNX"
        )
    if model.main_input_name not in ("input_ids", "pixel_values"):
        raise ValueError(
            f"{type(model).__name__} does not read one text or image; only models that do are written as ONNX"
        )


def _export(tensors: _Tensors, path: Path) -> None:
    # It warns of packages that have nothing to do with these models, and of names that it does not use.
    for name in ("torch.onnx", "onnxscript", "onnx_ir"):
        logging.getLogger(name).setLevel(logging.ERROR)
    shapes = dict.fromkeys(tensors.inputs, tensors.axes)
    example = tensors.unpadded_example()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = torch.onnx.export(
                tensors, example, dynamo=True, dynamic_shapes=shapes, output_names=tensors.outputs, verbose=False
            )
        except torch.onnx.OnnxExporterError as error:
            reason = str(error.__cause__ or error).strip().partition("\n")[0]
            raise ValueError(
                f"{type(tensors.model).__name__} cannot be written as ONNX by torch {torch.__version__} ({reason}); "
                "use the model itself, or `hub.export`, whose folder runs without this package"
            ) from error
    assert program is not None
    program.save(str(path), external_data=False)


def _largest_differences(tensors: _Tensors, path: Path) -> dict[str, float]:
    """Return the largest difference of each output between the model and the file."""
    from onnxruntime import InferenceSession

    session = InferenceSession(str(path), providers=["CPUExecutionProvider"])
    largest = dict.fromkeys(tensors.outputs, torch.zeros(()))
    longest = input_limit(tensors.model) or sys.maxsize
    # The last one is longer than the blocks in which some models compute.
    long = 65 + 2 * tensors.unpadded_example()[0].shape[-1]
    for rows, length in ((1, tensors.shortest), (3, 7), (4, 19), (2, long)):
        length = min(length, longest)
        given = tensors.example(rows, length)
        found = session.run(None, {name: value.numpy() for name, value in zip(tensors.inputs, given, strict=True)})
        with torch.no_grad():
            expected = tensors(*given)
        for name, ours, theirs in zip(tensors.outputs, found, expected, strict=True):
            differences = (torch.from_numpy(ours) - theirs).abs()
            if name in tensors.per_token:
                differences = differences[given[1].flatten(0, -2).bool()]
            largest[name] = torch.maximum(largest[name], differences.max())
    return {name: float(difference) for name, difference in largest.items()}
