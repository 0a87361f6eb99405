# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Transfer of features: only the head is trained, on the outputs of a frozen backbone, which are computed once.

The weights of the backbone have no gradient and it stays in eval mode, so its outputs for a text are always the same.
They are computed once, without padding, and kept in main memory in their own type, so that an epoch runs only the head.
Only those outputs are kept that the head reads: for BERT's classifier a vector of `hidden_size` numbers per text, for
a tagger one per token. Each of several processes keeps them all.

In two cases nothing is kept, and each step runs the frozen backbone: if the backbone has weights that its checkpoint
lacks (a pooler), which are trained too, and if the head reads states of padding (as transformers' own for questions).
"""

import hashlib
import inspect
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.tasks.core.factories import log_once
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.trainer.batches import Batch, Batches

_READ_TOGETHER = 256
_COMPUTED_TOGETHER = 32
Row = dict[str, Tensor]


def freeze_backbone(model: Any, new: Collection[str]) -> None:
    """Turn off the gradient of the backbone's weights, except those that are not from the checkpoint.

    >>> from transformers import BertConfig, BertForSequenceClassification
    >>> shape = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4}
    >>> model = BertForSequenceClassification(BertConfig(vocab_size=9, **shape))
    >>> freeze_backbone(model, new=["bert.pooler.dense.bias", "classifier.bias"])
    >>> [name for name, weight in model.named_parameters() if weight.requires_grad]
    ['bert.pooler.dense.bias', 'classifier.weight', 'classifier.bias']

    Args:
        model: a model of transformers with a head; the backbone is its `base_model`.
        new: the names of new weights, which the checkpoint does not hold.

    Raises:
        ValueError: the model has no weights besides the backbone's.
    """
    backbone = model.base_model
    for name, weight in backbone.named_parameters():
        weight.requires_grad_(f"{model.base_model_prefix}.{name}" in new)
    if backbone is model or not any(weight.requires_grad for weight in model.parameters()):
        raise ValueError(f"{type(model).__name__} has no weight outside its backbone; leave out freeze_backbone")


@contextmanager
def frozen_backbone(model: Any, batches: Batches, mixed_precision: str = "no") -> Iterator[None]:
    """A context in which the frozen backbone of `model` stays in eval mode, and reads each text once if possible.

    The features of all texts in `batches` are computed when the first batch is read, always in the same order, so that
    a resumed run gets the same bits.

    Args:
        mixed_precision: the precision of training, "no" or "bf16".

    Raises:
        ValueError: the launcher asks to shard the model, or the batches do not repeat their rows in each epoch.
    """
    if not isinstance(batches, ShuffledBatches):
        raise ValueError(f"freeze_backbone needs rows that come again, not {type(batches).__name__}")
    if os.environ.get("ACCELERATE_USE_FSDP", "false").lower() in ("true", "1"):
        raise ValueError("freeze_backbone trains the head alone, which needs no sharding; unset ACCELERATE_USE_FSDP")
    backbone, collate = model.base_model, batches.collate
    backbone.eval()
    backbone.train = lambda mode=True: backbone  # the loop calls train() on the whole model
    trained = [name for name, weight in backbone.named_parameters() if weight.requires_grad]

    def collate_first(rows: np.ndarray) -> Batch:
        """Compute the features before the first batch, when the model is on its device."""
        batches.collate = collate
        if not trained:
            _read_all(model, batches, mixed_precision)
        return collate(rows)

    if trained:
        log_once(
            f"the backbone's new weights are trained too, so it reads every text in every epoch: {', '.join(trained)}"
        )
    batches.collate = collate_first
    try:
        yield
    finally:
        batches.collate = collate
        for name in ("train", "forward"):
            vars(backbone).pop(name, None)


def _read_all(model: Any, batches: ShuffledBatches, mixed_precision: str) -> None:
    """Replace the backbone's `forward` by a `_Reader`, and fill its memory with the texts of the batches."""
    reader = _Reader(model.base_model)
    device = model.device
    # Without autocast's cache: a weight that was cast without gradients would have no gradient in the next step.
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=mixed_precision == "bf16", cache_enabled=False)
    with evaluation_mode(model), autocast:
        if reader.find_what_is_read(model, _inputs(next(batches.in_order(_COMPUTED_TOGETHER)), device)):
            model.base_model.forward = reader
            for batch in batches.in_order(_READ_TOGETHER):
                with torch.no_grad():
                    model(**_inputs(batch, device))
            log_once(f"features of {len(reader.features):,} texts take {reader.num_bytes / 2**20:,.1f} MiB of memory")
        else:
            log_once(f"{type(model).__name__} reads states of padding, so the backbone reads every text in every epoch")


def _inputs(batch: Batch, device: torch.device) -> dict[str, Tensor]:
    return {name: value.to(device) for name, value in batch.inputs.items()}


class _Reader:
    """The `forward` of a frozen backbone that remembers its outputs for each text, without padding.

    Outputs that are not tensors, such as caches, are left out.
    """

    def __init__(self, backbone: nn.Module) -> None:
        self.read: Callable[..., Any] = backbone.forward
        self.signature = inspect.signature(self.read)
        self.used: set[str] = set()
        self.features: dict[bytes, Row] = {}
        self.unused: Row = {}
        self.output_class: Any = None

    @property
    def num_bytes(self) -> int:
        """The memory of the features."""
        return sum(value.nbytes for row in self.features.values() for value in row.values())

    def find_what_is_read(self, model: Any, inputs: dict[str, Tensor]) -> bool:
        """Find the outputs that the loss depends on; return False if it depends on states of padding."""
        found: list[tuple[Tensor | None, dict[str, Tensor]]] = []

        def read_apart(*args: Any, **kwargs: Any) -> Any:
            with torch.no_grad():
                outputs = self.read(*args, **kwargs)
            leaves = {name: value.detach().requires_grad_() for name, value in _tensors(outputs).items()}
            found.append((self._arguments(args, kwargs).get("attention_mask"), leaves))
            return type(outputs)(**{**outputs, **leaves})

        model.base_model.forward = read_apart
        try:
            loss = model(**inputs).loss
        finally:
            del model.base_model.forward
        reads_padding = False
        for mask, leaves in found:
            gradients = torch.autograd.grad(loss, list(leaves.values()), retain_graph=True, allow_unused=True)
            used = {name: gradient for name, gradient in zip(leaves, gradients, strict=True) if gradient is not None}
            self.used |= used.keys()
            if mask is not None:
                states = (gradient for gradient in used.values() if gradient.dim() > 2)
                reads_padding |= any(bool(gradient[mask == 0].any()) for gradient in states)
        return not reads_padding

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the outputs, with zeros for padding and for outputs that the loss does not depend on."""
        arguments = self._arguments(args, kwargs)
        tensors = {name: value for name, value in arguments.items() if isinstance(value, Tensor)}
        others = {name: value for name, value in arguments.items() if name not in tensors}
        batch, seq, *_ = next(iter(tensors.values())).shape
        if wrong := [name for name, value in tensors.items() if value.shape[:2] != (batch, seq)]:
            raise ValueError(f"freeze_backbone keeps no features of inputs with {', '.join(wrong)} that no row has")
        spans = _real_spans(tensors.get("attention_mask"), batch, seq)
        rows = [{name: value[row, span] for name, value in tensors.items()} for row, span in enumerate(spans)]
        keys = [_key(row) for row in rows]
        self._compute({key: row for key, row in zip(keys, rows, strict=True) if key not in self.features}, others)
        features = [self.features[key] for key in keys]
        device = next(iter(tensors.values())).device
        named = {name: _padded([row[name] for row in features], spans, seq).to(device) for name in features[0]}
        unused = {
            name: torch.zeros((), dtype=value.dtype, device=device).expand(
                batch, *[seq] * (value.dim() - 1), value.shape[-1]
            )
            for name, value in self.unused.items()
        }
        return self.output_class(**named, **unused)

    @torch.no_grad()
    def _compute(self, missing: dict[bytes, Row], others: dict[str, Any]) -> None:
        """Add the features of texts; a batch has texts of equal length, so that none is padded."""
        by_length: dict[int, list[bytes]] = defaultdict(list)
        for key, row in missing.items():
            by_length[len(next(iter(row.values())))].append(key)
        for alike in by_length.values():
            for start in range(0, len(alike), _COMPUTED_TOGETHER):
                keys = alike[start : start + _COMPUTED_TOGETHER]
                stacked = {name: torch.stack([missing[key][name] for key in keys]) for name in missing[keys[0]]}
                outputs = self.read(**stacked, **others)
                self.output_class = type(outputs)
                tensors = {name: value.cpu() for name, value in _tensors(outputs).items()}
                self.unused = {name: value[0] for name, value in tensors.items() if name not in self.used}
                for index, key in enumerate(keys):
                    self.features[key] = {name: tensors[name][index] for name in tensors if name in self.used}

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name."""
        found = self.signature.bind(*args, **kwargs).arguments
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                found |= found.pop(name, {})
        return found


def _tensors(outputs: Any) -> dict[str, Tensor]:
    return {name: value for name, value in outputs.items() if isinstance(value, Tensor) and value.is_floating_point()}


def _real_spans(mask: Tensor | None, batch: int, seq: int) -> list[slice]:
    """Return the span of each row's real tokens, from the first to the last that is not masked."""
    if mask is None:
        return [slice(0, seq)] * batch
    real = mask.cpu().bool()
    last = seq - real.flip(1).int().argmax(1)
    return [slice(*span) for span in zip(real.int().argmax(1).tolist(), last.tolist(), strict=True)]


def _key(row: Row) -> bytes:
    """Return a checksum of a text's inputs."""
    digest = hashlib.blake2b(digest_size=16)
    for name, value in row.items():
        digest.update(f"{name} {tuple(value.shape)} ".encode())
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.digest()


def _padded(rows: Sequence[Tensor], spans: Sequence[slice], seq: int) -> Tensor:
    """Return the rows' features as (batch, width), or as (batch, seq, width) with each row's states in its span.

    All images have the same number of patches, whatever `seq` is.
    """
    if rows[0].dim() == 1 or len(rows[0]) != spans[0].stop - spans[0].start:
        return torch.stack(list(rows))
    states = rows[0].new_zeros(len(rows), seq, rows[0].shape[-1])
    for index, (row, span) in enumerate(zip(rows, spans, strict=True)):
        states[index, span] = row
    return states
