# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The blocks of the Transformer beside torch's own layers, with copied weights; out of these, the whole model."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.testing import assert_close

from hf_lecture_models import LectureTransformerConfig, LectureTransformerModel
from hf_lecture_models.layers.bidirectional_attention import bidirectional_attention
from hf_lecture_models.layers.causal_attention import causal_attention
from hf_lecture_models.models.transformer.modeling_transformer_blocks import EncoderBlock
from tests.model_tests import Tensors, perturb
from tests.models.official_checkpoints import weighted_sum

SHAPE = {"vocab_size": 20, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20}
SHAPE |= {"decoder_layers": 3, "decoder_attention_heads": 2, "decoder_ffn_dim": 16, "dropout": 0.0}
SHAPE |= {"max_position_embeddings": 16, "pad_token_id": 19, "bos_token_id": 17, "eos_token_id": 18}
SHAPE |= {"decoder_start_token_id": 17}

PARTS = {
    "ffn.up_proj": "linear1",
    "ffn.down_proj": "linear2",
    "self_attn.o_proj": "self_attn.out_proj",
    "attention_norm": "norm1",
}
ENCODER_PARTS = PARTS | {"ffn_norm": "norm2"}
DECODER_PARTS = PARTS | {
    "cross_attn.o_proj": "multihead_attn.out_proj",
    "cross_attention_norm": "norm2",
    "ffn_norm": "norm3",
}


def activation(config: LectureTransformerConfig, block: Any) -> Callable[[Tensor], Tensor]:
    functions: dict[str, Callable[[Tensor], Tensor]] = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_new": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        "silu": F.silu,
        "swish": lambda x: x * torch.sigmoid(block.ffn.activation.beta * x),
    }
    return functions[config.hidden_act]


def torch_layer(config: LectureTransformerConfig, block: Any) -> tuple[nn.Module, Tensors]:
    """torch's layer of the same kind, and our weights under its names; gradients flow back to ours."""
    is_encoder = isinstance(block, EncoderBlock)
    heads, inner = block.self_attn.num_heads, block.ffn.up_proj.out_features
    layer_class = nn.TransformerEncoderLayer if is_encoder else nn.TransformerDecoderLayer
    options = {"dropout": 0.0, "layer_norm_eps": config.layer_norm_eps, "batch_first": True}
    options |= {"activation": activation(config, block), "norm_first": config.norm_position == "pre"}
    theirs = layer_class(config.hidden_size, heads, inner, **options)  # type: ignore[arg-type]
    weights = {}
    for kind in ("weight", "bias"):
        weights[f"self_attn.in_proj_{kind}"] = getattr(block.self_attn.qkv_proj, kind)
        if not is_encoder:
            cross = (getattr(each, kind) for each in (block.cross_attn.q_proj, block.cross_attn.kv_proj))
            weights[f"multihead_attn.in_proj_{kind}"] = torch.cat(list(cross))
        for ours, name in (ENCODER_PARTS if is_encoder else DECODER_PARTS).items():
            weights[f"{name}.{kind}"] = getattr(block.get_submodule(ours), kind)
    assert weights.keys() == dict(theirs.named_parameters()).keys()
    # Training, without dropout: in evaluation torch takes a fused kernel.
    return theirs.train(), weights


def sinusoids(length: int, width: int, sines_first: bool) -> Tensor:
    """As the paper writes them, one number at a time."""
    table = torch.zeros(length, width, dtype=torch.float64)
    for t in range(length):
        for k in range(width // 2):
            angle = t / 10_000 ** (2 * k / width)
            sine, cosine = (k, width // 2 + k) if sines_first else (2 * k, 2 * k + 1)
            table[t, sine], table[t, cosine] = math.sin(angle), math.cos(angle)
    return table.float()


def embedded(stack: Any, ids: Tensor) -> Tensor:
    config = stack.config
    words = stack.embed_tokens.weight[ids] * (config.hidden_size**0.5 if config.scale_embedding else 1.0)
    if config.position_encoding == "learned":
        return words + stack.position_encoding.embed_positions.weight[: ids.shape[1]]
    if config.position_encoding == "none":
        return words
    return words + sinusoids(ids.shape[1], config.hidden_size, config.position_encoding == "sines_first")


def torch_transformer(model: Any, input_ids: Tensor, decoder_input_ids: Tensor) -> Tensors:
    """The whole model out of torch's layers; rows without padding."""
    config = model.config
    source, target = embedded(model.encoder, input_ids), embedded(model.decoder, decoder_input_ids)
    for block in model.encoder.layers:
        layer, weights = torch_layer(config, block)
        source = functional_call(layer, weights, (source,))
    source = model.encoder.final_norm(source)
    mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
    for block in model.decoder.layers:
        layer, weights = torch_layer(config, block)
        target = functional_call(layer, weights, (target, source), {"tgt_mask": mask})
    return {"last_hidden_state": model.decoder.final_norm(target), "encoder_last_hidden_state": source}


def assert_same(ours: Tensor, theirs: Tensor, inputs: list[Tensor]) -> None:
    """Outputs, and the gradients of all that they depend on."""
    assert_close(ours, theirs, rtol=0, atol=1e-5)
    gradients = [torch.autograd.grad(weighted_sum({"": output}), inputs) for output in (ours, theirs)]
    for our, their in zip(*gradients, strict=True):
        assert_close(our, their, rtol=0, atol=1e-4 * max(their.abs().max().item(), 1e-3))


@pytest.mark.parametrize("hidden_act", ["relu", "gelu", "swish"])
@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_blocks_equal_torchs_layers(norm_position: str, hidden_act: str) -> None:
    """With padding behind the source, in both blocks."""
    config = LectureTransformerConfig(**SHAPE, norm_position=norm_position, hidden_act=hidden_act)
    model = LectureTransformerModel(config)
    perturb(model, 0.4)
    source, target = torch.randn(3, 6, 12, requires_grad=True), torch.randn(3, 5, 12, requires_grad=True)
    mask = torch.tensor([[1] * 6, [1, 1, 0, 0, 0, 0], [1] * 5 + [0]])
    encoder_block: Any = model.encoder.layers[0]
    layer, weights = torch_layer(config, encoder_block)
    theirs = functional_call(layer, weights, (source,), {"src_key_padding_mask": mask == 0})
    ours = encoder_block(source, bidirectional_attention("sdpa", source, None, mask))
    real = mask.bool()
    assert_same(ours[real], theirs[real], [source, *encoder_block.parameters()])

    decoder_block: Any = model.decoder.layers[0]
    layer, weights = torch_layer(config, decoder_block)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    options = {"tgt_mask": causal, "memory_key_padding_mask": mask == 0}
    theirs = functional_call(layer, weights, (target, source), options)
    kernels = causal_attention("sdpa", target), bidirectional_attention("sdpa", target, None, mask, source)
    ours = decoder_block(target, kernels[0], source, kernels[1])
    assert_same(ours, theirs, [source, target, *decoder_block.parameters()])
