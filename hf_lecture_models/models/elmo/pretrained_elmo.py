# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of all ELMo models, with their initial weights, and the reading of files, which `__init__.py` binds."""

from os import PathLike
from typing import Any, Self

import torch
from torch import nn

from hf_lecture_models.base.modeling import LayeredPreTrainedModel
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.highway import Gate
from hf_lecture_models.models.elmo.configuration_elmo import ElmoConfig


class ElmoPreTrainedModel(LayeredPreTrainedModel):
    """The base of all ELMo models."""

    config: ElmoConfig
    _is_stateful = True

    def get_input_embeddings(self) -> nn.Module:
        """Return the vectors of characters."""
        return self.base_model.characters.embed  # type: ignore[union-attr, return-value]

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the vectors of characters."""
        self.base_model.characters.embed = value  # type: ignore[union-attr]

    def get_output_embeddings(self) -> None:
        """Return None: the vocabulary of the predicted words is not that of the characters."""

    @torch.no_grad()
    def _init_weights(self, module: Any) -> None:
        if isinstance(module, nn.Embedding):
            init.uniform_(module.weight, -1.0, 1.0)
        elif isinstance(module, nn.Conv1d):
            init.uniform_(module.weight, -0.05, 0.05)
            init.zeros_(module.bias)  # type: ignore[arg-type]
        elif isinstance(module, nn.Linear):
            init.normal_(module.weight, std=module.in_features**-0.5)
            init.constant_(module.bias, -2.0 if isinstance(module, Gate) else 0.0)
        elif isinstance(module, nn.RNNBase):
            bound = module.hidden_size**-0.5
            for parameter in module.parameters(recurse=False):
                init.uniform_(parameter, -bound, bound)
        if hasattr(module, "draw_weights"):
            module.draw_weights()


class ElmoFiles:
    """AllenNLP's files, which only the package can read."""

    @classmethod
    def from_allennlp(cls, options_json: str | PathLike[str], weights_hdf5: str | PathLike[str]) -> Self:
        """Read the files of an official model; needs the package and h5py."""
        raise ImportError("reading AllenNLP's files needs the package hf_lecture_models: pip install hf-lecture-models")
