# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models with a stack of recurrent layers that run torch's kernels."""

import torch
from torch import nn

from hf_lecture_models.base.modeling import LayeredPreTrainedModel
from hf_lecture_models.layers.recurrent_layer import init_kernel


class RecurrentKernelsModel(LayeredPreTrainedModel):
    """A layered model whose state is a `RecurrentCache`, and whose kernels start by torch's own rule."""

    _is_stateful = True

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.RNNBase):
            init_kernel(module)
