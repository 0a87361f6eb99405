# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BERT, a Transformer that reads in both directions, with the heads of its pre-training and fine-tuning.

Devlin, Chang, Lee & Toutanova, "BERT: pre-training of deep bidirectional Transformers for language understanding",
2018, sections 3 (model and input), 3.1 (pre-training) and 3.2 (fine-tuning); the block is the encoder of Vaswani et
al., "Attention is all you need", 2017. Slides R:752-770, R:958-993, N s61-63.

With one-hot tokens u_1 = [CLS], u_2, ..., u_T, token t in text s_t, the first (0) or second (1) of a pair, in K blocks:

    h_t = LN(W_e u_t + W_s[s_t] + W_p[t])                            vectors of word, text and position
    n = LN_1(h + Attention(h)),  h ← LN_2(n + FFN(n))                K times; the norm comes after the sum
    c = tanh(W_c h_1 + b_c)                                          the vector of the whole, from [CLS] ("pooler")

    Attention: o_t = W_o [Σ_s a_t[s] v_s of each head] + b_o,  a_t = softmax_s(q_t · k_s / √head_dim),  all s
    FFN(n) = W_2 GELU(W_1 n + b_1) + b_2,  GELU(x) = x Φ(x)
    LN(x) = γ ⊙ (x - mean(x)) / √(var(x) + ε) + β

Pre-training adds two losses, of masked words (15 % of the text, each predicted by itself) and of pairs of texts:

    P(u_t | the masked text) = softmax(W_e^T LN(GELU(W_m h_t + b_m)) + b)
    P(the second text follows the first) = softmax(W_n c + b_n)[0]

Fine-tuning adds one linear layer: on c for the class of a text or pair, or the score of a choice; on each h_t for the
tag of a token, or its scores as the first and the last of an answer.

Dropout acts on h_t before the first block, on the weights a_t, on what Attention and FFN add, and before classifiers.

Deviations:
- From the slides: N s62 reveals masked words one after another; the paper predicts each from the masked text alone.
- From the paper: the scores of answers have biases, as in all published checkpoints; no probability depends on them.
- Not in the paper, but in its code: tanh(W_c ...), GELU(W_m ...), and the initial weights, normal with a standard
  deviation of 0.02, drawn again beyond 0.04. That code came to use GELU's tanh form, which is "gelu_new" here.
- With padding on the left, h_1 is that of the first real token, and positions are counted from there.
"""

from collections import OrderedDict
from typing import ClassVar

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from hf_lecture_models.base.attention_models import TextInputs
from hf_lecture_models.base.heads.classification import SequenceClassificationHead, TokenClassificationHead
from hf_lecture_models.base.heads.masked_lm import MaskedLMHead
from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.base.heads.multiple_choice import MultipleChoiceHead
from hf_lecture_models.base.heads.pretraining import NextSentenceHead, PreTrainingHead
from hf_lecture_models.base.heads.question_answering import QuestionAnsweringHead
from hf_lecture_models.base.text_encoder import TextEncoderPreTrainedModel
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.attention import AttentionKernel
from hf_lecture_models.layers.bidirectional_attention import BidirectionalSelfAttention
from hf_lecture_models.layers.position_wise import PositionWise
from hf_lecture_models.layers.text_pairs import first_token, type_vectors
from hf_lecture_models.models.bert.configuration_bert import LectureBertConfig


class BertBlock(GradientCheckpointingLayer):
    """n = LN_1(h + Attention(h)); h = LN_2(n + FFN(n))."""

    def __init__(self, config: LectureBertConfig, layer_index: int = 0):
        super().__init__()
        width, eps, dropout = config.hidden_size, config.layer_norm_eps, config.attention_probs_dropout_prob
        self.self_attn = BidirectionalSelfAttention(width, config.num_attention_heads, dropout, layer_index)
        self.attention_norm = nn.LayerNorm(width, eps)
        self.ffn = PositionWise(width, config.intermediate_size, ACTIVATIONS[config.hidden_act]())
        self.ffn_norm = nn.LayerNorm(width, eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden: Tensor, attention: AttentionKernel) -> Tensor:
        """The next state, (batch, seq, hidden)."""
        attended, _ = self.self_attn(hidden, attention)
        n = self.attention_norm(hidden + self.dropout(attended))
        return self.ffn_norm(n + self.dropout(self.ffn(n)))


class LectureBertPreTrainedModel(TextEncoderPreTrainedModel):
    """The base class of all BERT models."""

    config: LectureBertConfig
    # `bert` checkpoints also hold the positions, and a second name of the output layer's bias.
    _keys_to_ignore_on_load_unexpected = [r"(^|\.)position_ids$", r"^cls\.predictions\.decoder\.bias$"]
    _may_start_anew = ("pooler",)


class LectureBertModel(LectureBertPreTrainedModel):
    """Word, text and position vectors, a stack of blocks, and the vector of the whole.

    `TextEncoderPreTrainedModel` has the arguments of `forward`; `pooler_output` is c, without a pooling layer None.

    >>> LectureBertModel(LectureBertConfig(hidden_size=12))(torch.tensor([[3, 1, 4]])).pooler_output.shape
    torch.Size([1, 12])
    """

    def __init__(self, config: LectureBertConfig, add_pooling_layer: bool = True):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.embed_types = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.embed_positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.embedding_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.layers = nn.ModuleList(BertBlock(config, index) for index in range(config.num_hidden_layers))
        self.pooler = nn.Linear(config.hidden_size, config.hidden_size) if add_pooling_layer else None
        self.post_init()

    def read(self, text: TextInputs, token_type_ids: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """h of each token after the last block, (batch, seq, hidden), and c, (batch, hidden)."""
        types = type_vectors(self.embed_types, token_type_ids, text.words)
        hidden = self.dropout(self.embedding_norm(text.words + types + self.embed_positions(text.positions)))
        attention = text.attention(hidden)
        for layer in self.layers:
            hidden = layer(hidden, attention)
        if self.pooler is None:
            return hidden, None
        return hidden, torch.tanh(self.pooler(first_token(hidden, text.attention_mask)))


class BertHead(ModelHead):
    """A head that reads c of texts "[CLS] a [SEP] b [SEP]"."""

    text_template: ClassVar[str | None] = "bert"
    base_model_class = LectureBertModel


class BertWordHead(BertHead):
    """A head that predicts words, from LN(GELU(W_m h_t + b_m))."""

    def add_layers(self, config: LectureBertConfig) -> None:
        """Build W_m, b_m and the norm, then the output layer W_e^T, b."""
        dense, norm = nn.Linear(width := config.hidden_size, width), nn.LayerNorm(width, config.layer_norm_eps)
        activation = ACTIVATIONS[config.hidden_act]()
        self.transform = nn.Sequential(OrderedDict(dense=dense, activation=activation, norm=norm))
        super().add_layers(config)

    def word_states(self, hidden: Tensor) -> Tensor:
        """LN(GELU(W_m h + b_m)), in the shape of `hidden` (..., hidden_size)."""
        return self.transform(hidden)


class LectureBertForPreTraining(BertWordHead, PreTrainingHead, LectureBertPreTrainedModel):
    """Predict masked words, and whether the second text follows the first.

    >>> config = LectureBertConfig(hidden_size=12)
    >>> LectureBertForPreTraining(config)(torch.tensor([[3, 1, 4]])).seq_relationship_logits.shape
    torch.Size([1, 2])
    """


class LectureBertForMaskedLM(BertWordHead, MaskedLMHead, LectureBertPreTrainedModel):
    """Predict masked words.

    >>> LectureBertForMaskedLM(LectureBertConfig(hidden_size=12))(torch.tensor([[3, 8, 4]])).logits.shape
    torch.Size([1, 3, 30522])
    """


class LectureBertForNextSentencePrediction(BertHead, NextSentenceHead, LectureBertPreTrainedModel):
    """Classify pairs: the second text follows the first (class 0), or it does not (class 1).

    >>> config = LectureBertConfig(hidden_size=12)
    >>> LectureBertForNextSentencePrediction(config)(torch.tensor([[3, 1, 4]])).logits.shape
    torch.Size([1, 2])
    """


class LectureBertForSequenceClassification(BertHead, SequenceClassificationHead, LectureBertPreTrainedModel):
    """Classify texts or pairs, or give them numbers, from c.

    >>> config = LectureBertConfig(hidden_size=12, num_labels=3)
    >>> LectureBertForSequenceClassification(config)(torch.tensor([[3, 1, 4]])).logits.shape
    torch.Size([1, 3])
    """


class LectureBertForMultipleChoice(BertHead, MultipleChoiceHead, LectureBertPreTrainedModel):
    """Score each choice, from its c.

    >>> config = LectureBertConfig(hidden_size=12)
    >>> LectureBertForMultipleChoice(config)(torch.tensor([[[3, 1, 4], [3, 1, 5]]])).logits.shape
    torch.Size([1, 2])
    """


class LectureBertForTokenClassification(BertHead, TokenClassificationHead, LectureBertPreTrainedModel):
    """Classify each token, from its h_t.

    >>> config = LectureBertConfig(hidden_size=12, num_labels=3)
    >>> LectureBertForTokenClassification(config)(torch.tensor([[3, 1, 4]])).logits.shape
    torch.Size([1, 3, 3])
    """


class LectureBertForQuestionAnswering(BertHead, QuestionAnsweringHead, LectureBertPreTrainedModel):
    """Scores of being the first and the last token of the answer, from each h_t.

    >>> config = LectureBertConfig(hidden_size=12)
    >>> LectureBertForQuestionAnswering(config)(torch.tensor([[3, 1, 4]])).end_logits.shape
    torch.Size([1, 3])
    """
