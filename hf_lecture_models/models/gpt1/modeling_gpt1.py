# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""GPT-1, a causal Transformer with trained positions, its language model, and its heads for other tasks.

Radford, Narasimhan, Salimans & Sutskever, "Improving language understanding by generative pre-training", 2018,
sections 3 and 4.1; the block is the decoder of Vaswani et al., "Attention is all you need", 2017, without its
attention to a source. Slides R:1007-1117, Y:477-557.

With one-hot tokens u_1, ..., u_T, word vectors W_e and position vectors W_p, in K blocks:

    h_t = W_e u_t + W_p[t]                                           (Radford et al., equation 2)
    n = LN_1(h + Attention(h)),  h ← LN_2(n + FFN(n))                K times; the norm comes after the sum
    P(u_{t+1} | u_1 ... u_t) = softmax(W_e^T h_t)

    Attention: o_t = W_o [Σ_{s ≤ t} a_t[s] v_s of each head] + b_o,  a_t = softmax_s(q_t · k_s / √head_dim)
    FFN(n) = W_2 GELU(W_1 n + b_1) + b_2,  GELU(x) = x Φ(x) ≈ 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))
    LN(x) = γ ⊙ (x - mean(x)) / √(var(x) + ε) + β

Dropout acts on h_t before the first block, on the weights a_t, and on what Attention and FFN add.

Fine-tuned (section 3.2, 3.3; slides R:1080-1117), the whole model and a linear layer A, b read w_L, the last block's
state at the last token, Extract, which alone has seen all others; dropout acts on w_L:

    class of a text         A w_L + b,              w_1 ... w_L the states of  Start text Extract
    class of a pair         A w_L + b,                                         Start a Delim b Extract
    similarity of a pair    A (w_L + w'_L) + b,     w' those of                Start b Delim a Extract  (`both_orders`)
    right choice of c_k     softmax_k(A w_L^k + b),                            Start context Delim c_k Extract

    loss = -ln P(class) + λ · mean over t of -ln P(u_{t+1} | u_1 ... u_t)      λ: `auxiliary_lm_weight`

Deviations:
- From the slides: the sum of losses on R:1011 leaves out the first word and the end; with `<s>` in front, both count.
- From the slides: R:878 has the exact GELU; the published weights were trained with the tanh form, the default here.
- From the paper: its linear layer has no b, which is the slides'. λ = 0.5 is an option, off as on the slides. Its sum
  over all tokens is here, as in its authors' program, a mean over each text's tokens and then over texts, choices and
  orders: every example weighs the same. Their program drops the same units from all choices of an example.
- From the paper: its modified L2 penalty is the optimizer's business (`weight_decay` in a recipe). Its tokenizer is
  transformers' own; any other works.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.cache_utils import Cache
from transformers.generation import GenerationMixin
from transformers.modeling_layers import GradientCheckpointingLayer

from hf_lecture_models.base.attention_models import TextInputs
from hf_lecture_models.base.configuration import OUTPUT_LAYER_TP_PLAN
from hf_lecture_models.base.heads.causal_lm import CausalLMHead, gather_predicting_states
from hf_lecture_models.base.heads.classification import SequenceClassificationHead
from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.base.heads.model_head import TextVectorHead
from hf_lecture_models.base.heads.multiple_choice import MultipleChoiceHead
from hf_lecture_models.base.text_decoder import CausalPreTrainedModel
from hf_lecture_models.layers.activations import ACTIVATIONS
from hf_lecture_models.layers.attention import AttentionKernel
from hf_lecture_models.layers.causal_attention import CausalSelfAttention
from hf_lecture_models.layers.few_rows import FewRowsLinear
from hf_lecture_models.layers.inputs import padding_mask, real_token_mask, token_ids
from hf_lecture_models.layers.linear_cross_entropy import linear_cross_entropy
from hf_lecture_models.layers.position_wise import PositionWise
from hf_lecture_models.layers.task_tokens import extract_index, last_index, other_order
from hf_lecture_models.models.gpt1.configuration_gpt1 import Gpt1Config


class Gpt1Block(GradientCheckpointingLayer):
    """n = LN_1(h + Attention(h)); h = LN_2(n + FFN(n))."""

    def __init__(self, config: Gpt1Config, layer_index: int):
        super().__init__()
        width, eps = config.hidden_size, config.layer_norm_eps
        self.self_attn = CausalSelfAttention(width, config.num_attention_heads, config.attention_dropout, layer_index)
        self.attention_norm = nn.LayerNorm(width, eps)
        self.ffn = PositionWise(width, config.intermediate_size or 4 * width, ACTIVATIONS[config.hidden_act]())
        self.ffn_norm = nn.LayerNorm(width, eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden: Tensor, attention: AttentionKernel, layer_past: Cache | None = None) -> Tensor:
        """The next state, (batch, seq, hidden)."""
        attended, _ = self.self_attn(hidden, attention, layer_past)
        n = self.attention_norm(hidden + self.dropout(attended))
        return self.ffn_norm(n + self.dropout(self.ffn(n)))


class Gpt1PreTrainedModel(CausalPreTrainedModel):
    """The base class of all GPT-1 models."""

    config: Gpt1Config
    # openai-gpt checkpoints also hold the causal mask and the positions.
    _keys_to_ignore_on_load_unexpected = [r"\.attn\.bias$", r"(^|\.)position_ids$"]


class Gpt1Model(Gpt1PreTrainedModel):
    """Word and position vectors and a stack of blocks; `CausalPreTrainedModel` has the arguments of `forward`.

    >>> Gpt1Model(Gpt1Config(hidden_size=12))(torch.tensor([[3, 1, 4]])).last_hidden_state.shape
    torch.Size([1, 3, 12])
    """

    def __init__(self, config: Gpt1Config):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.embed_positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.layers = nn.ModuleList(Gpt1Block(config, index) for index in range(config.num_hidden_layers))
        self.post_init()

    def read(self, text: TextInputs) -> Tensor:
        """h of each token after the last block, (batch, seq, hidden)."""
        hidden = self.dropout(text.words + self.embed_positions(text.positions))
        attention = text.attention(hidden)
        for layer in self.layers:
            hidden = layer(hidden, attention, layer_past=text.cache)
        return hidden


class Gpt1ForCausalLM(CausalLMHead, Gpt1PreTrainedModel, GenerationMixin):
    """The language model: the next token's probability from the last block's state.

    >>> Gpt1ForCausalLM(Gpt1Config(hidden_size=12))(torch.tensor([[3, 1, 4]])).logits.shape
    torch.Size([1, 3, 40478])
    """

    base_model_class = Gpt1Model
    _tp_plan = OUTPUT_LAYER_TP_PLAN

    def add_layers(self, config: Gpt1Config) -> None:
        """Build W_e^T, the matrix of the word vectors."""
        self.lm_head = FewRowsLinear(config.hidden_size, config.vocab_size, bias=False)


class Gpt1TextHead(TextVectorHead):
    """The vector of a text, w_L, or of a pair in both orders, w_L + w'_L; and the language model's loss of each text.

    The ids of a row say where Delim and Extract stand: a batch may be padded on either side, and both orders of a pair
    come from one row.
    """

    text_template = "gpt1"
    base_model_class = Gpt1Model
    dropout: nn.Module

    def add_layers(self, config: Gpt1Config) -> None:
        """Build dropout, A and b, and where λ is not 0 also W_e^T."""
        if config.auxiliary_lm_weight:
            self.lm_head = FewRowsLinear(config.hidden_size, config.vocab_size, bias=False)
            self._tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}
        super().add_layers(config)

    def read_texts(self, inputs: dict[str, Any]) -> tuple[Any, Tensor]:
        """Return the base model's outputs, pairs in the other order as further rows, and the vectors of the texts."""
        inputs = self._with_other_order(inputs)
        outputs = self.base_model_outputs(**inputs)
        states, ids = outputs.last_hidden_state, inputs["input_ids"]
        extract = self._extract_index(ids, self._real_tokens(ids, inputs["attention_mask"], states))
        w = states.gather(1, extract[:, None, None].expand(-1, 1, states.shape[-1])).squeeze(1)  # (rows, hidden)
        if self.config.both_orders:
            w = w.unflatten(0, (2, -1)).sum(0)
            for name in ("hidden_states", "attentions"):  # are shown of the pairs as they were given
                if outputs.get(name) is not None:
                    outputs[name] = tuple(shown[: len(w)] for shown in outputs[name])
        return outputs, w

    def auxiliary_loss(self, outputs: Any, inputs: dict[str, Any], counts: Tensor) -> Tensor | None:
        """λ times the mean of -ln P(u_{t+1} | u_1 ... u_t) over t, of each text, or over both orders of each pair."""
        if not self.config.auxiliary_lm_weight:
            return None
        inputs, states = self._with_other_order(inputs), outputs.last_hidden_state
        ids, real = inputs["input_ids"], self._real_tokens(inputs["input_ids"], inputs["attention_mask"], states)
        if ids is None:
            raise ValueError("auxiliary_lm_weight is set, and inputs_embeds hold no tokens to predict; give input_ids")
        following = F.pad(ids.masked_fill(~real, NOT_COUNTED)[:, 1:], (0, 1), value=NOT_COUNTED)
        states, targets = gather_predicting_states(states, following, real)
        predicted = (targets.view_as(ids) != NOT_COUNTED).sum(1).clamp(min=1)  # tokens of each row
        orders = len(ids) // len(counts)
        weights = self.config.auxiliary_lm_weight * counts.repeat(orders) / (orders * predicted)
        return linear_cross_entropy(states, self.lm_head, targets, weights.repeat_interleave(ids.shape[1]))

    def _with_other_order(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The inputs; with `both_orders` the pairs in the other order are as many rows more."""
        ids, delim = inputs["input_ids"], self.config.delim_token_id
        if not self.config.both_orders:
            return inputs
        if ids is None or delim is None:
            raise TypeError(
                "both_orders=True needs the configuration's delim_token_id, to part the two texts, and input_ids, not "
                "inputs_embeds"
            )
        ids = token_ids(ids)
        real = real_token_mask(ids, inputs["attention_mask"], self.config.pad_token_id)
        order = other_order(ids, real, self._extract_index(ids, real), delim)
        twice = {name: torch.cat((each, each)) for name, each in inputs.items() if isinstance(each, Tensor)}
        both = {"input_ids": (ids, ids.gather(1, order)), "attention_mask": (real, real.gather(1, order))}
        return inputs | twice | {name: torch.cat(pair) for name, pair in both.items()}

    def _real_tokens(self, ids: Tensor | None, attention_mask: Tensor | None, states: Tensor) -> Tensor:
        if ids is not None:
            if attention_mask is not None:  # it covers what a cache holds, a trained prefix of peft's
                attention_mask = attention_mask[:, -ids.shape[1] :]
            return real_token_mask(ids, attention_mask, self.config.pad_token_id)
        real = padding_mask(attention_mask, states)
        return torch.ones_like(states[..., 0], dtype=torch.bool) if real is None else real

    def _extract_index(self, ids: Tensor | None, real: Tensor) -> Tensor:
        token = self.config.extract_token_id
        return last_index(real) if ids is None or token is None else extract_index(ids, real, token)


class Gpt1ForSequenceClassification(Gpt1TextHead, SequenceClassificationHead, Gpt1PreTrainedModel):
    """Texts, or pairs of them, to classes or numbers: A w_L + b.

    >>> config = Gpt1Config(vocab_size=9, hidden_size=12, num_hidden_layers=2, num_labels=3, extract_token_id=8)
    >>> Gpt1ForSequenceClassification(config)(torch.tensor([[6, 3, 1, 8]])).logits.shape
    torch.Size([1, 3])
    """


class Gpt1ForMultipleChoice(Gpt1TextHead, MultipleChoiceHead, Gpt1PreTrainedModel):
    """Scores of the continuations c_k of a text: A w_L^k + b, one number each.

    >>> config = Gpt1Config(vocab_size=9, hidden_size=12, num_hidden_layers=2, extract_token_id=8)
    >>> Gpt1ForMultipleChoice(config)(torch.tensor([[[6, 3, 7, 1, 8], [6, 3, 7, 2, 8]]])).logits.shape
    torch.Size([1, 2])
    """
