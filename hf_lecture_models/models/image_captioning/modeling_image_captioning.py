# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Image captioning: a Vision Transformer reads an image, and a decoder attends to its patches and writes a caption.

Vaswani et al., "Attention is all you need", NeurIPS 2017, section 3 (decoder and cross-attention); Dosovitskiy et al.,
"An image is worth 16x16 words: Transformers for image recognition at scale", 2020, section 3.1 (encoder); the idea that
each word of a caption attends to regions of the image: Xu et al., "Show, attend and tell: neural image caption
generation with visual attention", ICML 2015. Slides R:1130-1144, cross-attention across modalities.

With the pixels x_1, ..., x_N of the patches of an image and the tokens y_0 ... y_n of a caption, y_0 the start:

    e = [x_class; E x_1; ...; E x_N] + E_pos                          the encoder, K blocks; its equations (1) to (4)
    e' = e + Attention(LN_1(e)),  e ← e' + FFN(LN_2(e'));  e ← LN(e)  are those of `models/vit/modeling_vit.py`

    h_t = w_{y_t} + p_t                                               the decoder, K' blocks; w and p are trained
    n = h + Masked(LN_1(h)),  c = n + Cross(LN_2(n), e),  h ← c + FFN(LN_3(c))
    P(y_{t+1} | image, y_0 ... y_t) = softmax(W LN(h_t))              W: the vectors w

    Attention, Masked, Cross: o_t = W_o [Σ_s a_t[s] v_s of each head] + b_o,  a_t = softmax_s(q_t · k_s / √head_dim)
    Attention: all s of the image; Masked: s ≤ t of the caption
    Cross: q_t = W_q LN_2(n_t) + b_q of the caption, k_s = W_k e_s + b_k and v_s = W_v e_s + b_v of the image
    FFN(n) = W_2 GELU(W_1 n + b_1) + b_2,  GELU(x) = x Φ(x)
    LN(x) = γ ⊙ (x - mean(x)) / √(var(x) + ε) + β

In Cross, s goes over 1 + N positions, the states of [CLS] and of all patches: the slide's L' is the length of the
image, whatever the length n of the caption. The norm comes before each sublayer in both parts, as in ViT and GPT-2.

Dropout acts on the first e and h, on the weights a_t, and on what each sublayer adds.

Deviations:
- From the slides: R:1144 gives keys and values the decoder's length; they have the encoder's, L'.
- From Vaswani et al.: the norms come first, positions are trained, and word vectors are not multiplied by √d.
- From Xu et al.: their image is the grid of a convolutional network, their decoder an LSTM with additive attention to
  it; here both are Transformers, and every layer and head has weights of its own.
- Not in the papers: initial weights, normal with a standard deviation of 0.02, drawn again beyond 0.04.
"""

from typing import Any

from torch import Tensor, nn
from transformers.cache_utils import EncoderDecoderCache
from transformers.generation import GenerationMixin
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutput

from hf_lecture_models.base.attention_models import TextInputs
from hf_lecture_models.base.attention_stacks import DecoderStack
from hf_lecture_models.base.encoder_decoder import ImageEncoderDecoderModel
from hf_lecture_models.base.heads.seq2seq_lm import ImageSeq2SeqLMHead
from hf_lecture_models.base.image_encoder import ImageBlock, ImageEmbeddings, ImageEncoderPreTrainedModel
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.attention import AttentionKernel
from hf_lecture_models.layers.causal_attention import CausalSelfAttention
from hf_lecture_models.layers.cross_attention import CrossAttention
from hf_lecture_models.layers.position_wise import PositionWise
from hf_lecture_models.layers.positions import LearnedPositions
from hf_lecture_models.models.image_captioning.configuration_image_captioning import ImageCaptioningConfig


class CaptionBlock(GradientCheckpointingLayer):
    """n = h + Masked(LN_1(h)); c = n + Cross(LN_2(n), e); h = c + FFN(LN_3(c))."""

    def __init__(self, config: ImageCaptioningConfig, layer_index: int):
        super().__init__()
        width, eps, dropout = config.hidden_size, config.layer_norm_eps, config.attention_probs_dropout_prob
        heads = config.decoder_attention_heads or config.num_attention_heads
        inner = config.decoder_ffn_dim or config.intermediate_size
        self.attention_norm = nn.LayerNorm(width, eps)
        self.self_attn = CausalSelfAttention(width, heads, dropout, layer_index)
        self.cross_attention_norm = nn.LayerNorm(width, eps)
        self.cross_attn = CrossAttention(width, heads, dropout, layer_index)
        self.ffn_norm = nn.LayerNorm(width, eps)
        self.ffn = PositionWise(width, inner, ACTIVATIONS[config.hidden_act]())
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self, h: Tensor, masked: AttentionKernel, image: Tensor, cross: AttentionKernel, layer_past: Any = None
    ) -> Tensor:
        """Return the next state, (batch, target, hidden); `image` is e, (batch, 1 + patches, hidden)."""
        seen = None if layer_past is None else layer_past.self_attention_cache  # of the caption
        n = h + self.dropout(self.self_attn(self.attention_norm(h), masked, seen)[0])
        c = n + self.dropout(self.cross_attn(self.cross_attention_norm(n), image, cross, layer_past)[0])
        return c + self.dropout(self.ffn(self.ffn_norm(c)))


class ImageCaptioningPreTrainedModel(ImageEncoderPreTrainedModel):
    """The base class of encoder, decoder, and the models of both."""

    config: ImageCaptioningConfig


class CaptionEncoder(ImageCaptioningPreTrainedModel):
    """Read images: `last_hidden_state` (batch, 1 + patches, hidden) is e after the last norm, [CLS] first."""

    def __init__(self, config: ImageCaptioningConfig):
        super().__init__(config)
        self.embeddings = ImageEmbeddings(config, use_mask_token=False)
        self.layers = nn.ModuleList(ImageBlock(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.post_init()

    @model_forward
    def forward(
        self, pixel_values: Tensor, interpolate_pos_encoding: bool | None = None, **kwargs: Any
    ) -> BaseModelOutput:
        """Read images (batch, num_channels, height, width)."""
        e, attention = self.read_images(pixel_values, None, interpolate_pos_encoding, kwargs)
        for layer in self.layers:
            e = layer(e, attention)
        return BaseModelOutput(last_hidden_state=self.norm(e))


class CaptionDecoder(ImageCaptioningPreTrainedModel, DecoderStack):
    """Read the caption so far, and the image."""

    main_input_name = "input_ids"
    input_modalities = ["text"]

    def __init__(self, config: ImageCaptioningConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position_encoding = LearnedPositions(config.max_position_embeddings, config.hidden_size)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        count = config.decoder_layers or config.num_hidden_layers
        self.layers = nn.ModuleList(CaptionBlock(config, index) for index in range(count))
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.post_init()

    def read(
        self, text: TextInputs, source: Tensor, source_mask: Tensor | None, cache: EncoderDecoderCache | None
    ) -> Tensor:
        """Return LN(h) of each token after the last block, (batch, target, hidden)."""
        h, _ = self.position_encoding(text.words, text.positions, text.positions)
        h = self.dropout(h)
        masked, cross = text.attention(h), text.cross_attention(h)
        for layer in self.layers:
            h = layer(h, masked, source, cross, layer_past=cache)
        return self.norm(h)


class ImageCaptioningModel(ImageEncoderDecoderModel, ImageCaptioningPreTrainedModel):
    """Encoder and decoder; `ImageEncoderDecoderModel` has the arguments and outputs of `forward`.

    >>> import torch
    >>> model = ImageCaptioningModel(ImageCaptioningConfig(image_size=8, patch_size=4, hidden_size=12, vocab_size=9))
    >>> model(torch.zeros(1, 3, 8, 8), decoder_input_ids=torch.tensor([[0, 5]])).last_hidden_state.shape
    torch.Size([1, 2, 12])
    """

    def __init__(self, config: ImageCaptioningConfig):
        super().__init__(config)
        self.encoder, self.decoder = CaptionEncoder(config), CaptionDecoder(config)
        self.post_init()


class ImageCaptioningForConditionalGeneration(ImageSeq2SeqLMHead, ImageCaptioningPreTrainedModel, GenerationMixin):
    """The next token of a caption, given the image; `generate(pixel_values)` writes captions.

    >>> import torch
    >>> shape = {"image_size": 8, "patch_size": 4, "hidden_size": 12, "vocab_size": 9}
    >>> config = ImageCaptioningConfig(**shape, decoder_start_token_id=1, pad_token_id=0)
    >>> model = ImageCaptioningForConditionalGeneration(config)
    >>> model(torch.zeros(1, 3, 8, 8), labels=torch.tensor([[5, 2]])).logits.shape
    torch.Size([1, 2, 9])
    """

    base_model_class = ImageCaptioningModel
