# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Recurrent networks, and what reads or writes with them: language model, classifier of texts and of pairs, tagger.

Elman, "Finding structure in time", Cognitive Science 14, 1990; Mikolov et al., "Recurrent neural network based language
model", Interspeech 2010; Hochreiter & Schmidhuber, "Long short-term memory", Neural Computation 9, 1997, with the
forget gate of Gers, Schmidhuber & Cummins, Neural Computation 12, 2000; Cho et al., "Learning phrase representations
using RNN encoder-decoder", EMNLP 2014, section 2.3 (GRU); Sak, Senior & Beaufays, "Long short-term memory recurrent
neural network architectures for large scale acoustic modeling", Interspeech 2014, section 2.3 (recurrent projection);
Zaremba, Sutskever & Vinyals, "Recurrent neural network regularization", 2014 (dropout); Dai & Le, "Semi-supervised
sequence learning", NIPS 2015 (a classifier that starts from a language model); Conneau et al., "Supervised learning of
universal sentence representations from natural language inference data", EMNLP 2017 (maximum over states, pairs).
Slides R:344-664, Y:407-462.

With word vectors u_1, ..., u_L, K layers and h_l^0 = u_l:

    h_l^k = q_k(h_{l-1}^k, h_l^{k-1}),  h_0^k = 0                    (stacked recurrence)
    P(w_{l+1} | w_1 ... w_l) = softmax(W_o h_l^K + b_o)              (language model)

where q is one of (`layers/recurrent_cells.py` holds them as code)

    Elman: h = tanh(W [h; u] + b)
    GRU:   z, r = σ(W [h; u] + b);  n = tanh(A u + a + r ⊙ (B h + b'));  h = (1 - z) ⊙ n + z ⊙ h
    LSTM:  f, i, g, o = W [h; u] + b;  c = σ(f) ⊙ c + σ(i) ⊙ tanh(g);  h = σ(o) ⊙ tanh(c)
           with `projection_size`: h = P (σ(o) ⊙ tanh(c))

and `output_projection_size` puts V h + v in the place of the last layer's h, outside the recurrence. Dropout acts on
u_l and on every h_l^k on its way up, never on its way to the next step.

Two directions, h→ from h→_0 = 0 on and h← from h←_{L+1} = 0 back, stand side by side as h_l = [h→_l; h←_l]. With the
last layer's h_l

    P(tag of w_l = y | w_1 ... w_L) = softmax(W h_l + b)_y           (tagger, slide R:609)
    P(class y | w_1 ... w_L) = softmax(W x + b)_y                    (classifier, slide Y:452)

where x, the text's vector, is by `pooling` (`layers/text_vectors.py`)

    last: h_L, and [h→_L; h←_1] in two directions: each has read the whole text (slide Y:441)
    mean: Σ_l h_l / L
    max:  in each coordinate the largest of h_1, ..., h_L            (slide R:588, "pooling all of the hidden states")

and of two texts with the vectors x, x', read apart by the same weights, by `pair_combination` (slide Y:462)

    sum: x + x'      concat: [x; x']      infersent: [x; x'; |x - x'|; x ⊙ x']

Deviations:
- From the slides: the loss acts on the logits W_o h + b_o, not on h (R:637), and also counts the first word and the
  end, given `<s>` (R:637); the LSTM joins h and u along the feature axis and splits the four gates along it (R:533
  names the batch axis); its cell has an input gate (R:501 has c ⊙ f + g); the logarithm of the softmax is
  o[w] - log Σ exp o (Y:425).
- torch's kernels keep two biases whose sum is the b above, and order the gates r, z, n and i, f, g, o.
- The GRU's reset gate acts after the matrix product, as in torch and cuDNN; Cho et al. write it before: B (r ⊙ h).
- No peephole connections, and no extra forget bias: all recurrent weights and biases start uniform within
  1/sqrt(hidden_size), torch's rule.
- Elman's and Mikolov's hidden units are logistic; here, as on the slide Y:415, tanh.
- The slide's classifier has one output and σ; here are num_labels of them and a softmax, or σ with num_labels=1 and
  problem_type="multi_label_classification".
- The `<s>` in front of a text is read, and its state pooled, like those of the words.
- The classifier's dropout acts on the pooled x, where the language model's acts on the last layer's h_l: the largest of
  h_l that dropout has scaled up would be larger in training than afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers.generation import GenerationMixin
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast, SequenceClassifierOutput

from hf_lecture_models.base.heads.causal_lm import CausalLMHead
from hf_lecture_models.base.heads.sequence_classification import SequenceClassificationHead
from hf_lecture_models.base.heads.token_classification import TokenClassificationHead
from hf_lecture_models.base.large_vocabulary import OUTPUT_LAYERS, LargeVocabularyLM
from hf_lecture_models.base.modeling import LecturePreTrainedModel, model_forward
from hf_lecture_models.layers.inputs import input_vectors, padding_mask
from hf_lecture_models.layers.recurrent_cache import RecurrentCache, carried_states
from hf_lecture_models.layers.recurrent_layer import BidirectionalLayer, RecurrentLayer, init_kernel
from hf_lecture_models.layers.text_vectors import (
    PAIR_COMBINATIONS,
    PAIR_WIDTHS,
    POOLINGS,
    check_single_texts,
    end_states,
    real_tokens,
    texts_of_pairs,
)
from hf_lecture_models.models.recurrent.configuration_recurrent import RecurrentConfig

KERNELS: dict[str, Callable[..., nn.RNNBase]] = {"elman": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class RecurrentBlock(GradientCheckpointingLayer, RecurrentLayer):
    """One layer of the stack: h_l^k = q_k(h_{l-1}^k, h_l^{k-1})."""


class BidirectionalBlock(GradientCheckpointingLayer, BidirectionalLayer):
    """One layer of the stack that reads both ways: h_l^k = [h→; h←]."""


class RecurrentPreTrainedModel(LecturePreTrainedModel):
    """What all recurrent models share."""

    config: RecurrentConfig
    config_class = RecurrentConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _is_stateful = True
    _no_split_modules = ["RecurrentBlock", "BidirectionalBlock"]
    _can_record_outputs = {"hidden_states": [RecurrentBlock, BidirectionalBlock]}

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.RNNBase):
            init_kernel(module)


class RecurrentModel(RecurrentPreTrainedModel):
    """Word vectors, a stack of recurrent layers, and, if `output_projection_size` is set, a linear map at the end.

    `forward` reads sequences of ids (batch, seq), or of `inputs_embeds` (batch, seq, input_size). In `attention_mask`
    (batch, seq) 1 is a real token; a mask that also covers what the cache has seen is cut to the last steps. Padding,
    wherever it stands, outputs zeros and leaves the state as it was. `past_key_values` is the state to start from and
    is not changed; with `use_cache` the state at the end comes back as a new one (not if bidirectional).

    It returns `last_hidden_state` (batch, seq, config.output_size), `past_key_values`, and on request `hidden_states`:
    the word vectors and each layer's output, the last one being `last_hidden_state`.

    >>> model = RecurrentModel(RecurrentConfig(vocab_size=9, hidden_size=4, bidirectional=True))
    >>> model(torch.tensor([[3, 1, 4]])).last_hidden_state.shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, config: RecurrentConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.input_size)
        self.dropout = nn.Dropout(config.dropout)
        sizes = [config.input_size] + [config.layer_output_size] * config.num_hidden_layers
        self.layers = nn.ModuleList(_block(config, size) for size in sizes[:-1])
        self.output_projection: nn.Module = nn.Identity()
        if config.output_projection_size is not None:
            self.output_projection = nn.Linear(sizes[-1], config.output_projection_size)
        self.gradient_checkpointing = False
        self.post_init()

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: RecurrentCache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: bool,
    ) -> BaseModelOutputWithPast:
        """Read the sequences, from zero states or from those in `past_key_values`."""
        if self.config.bidirectional and past_key_values is not None:
            raise ValueError("a bidirectional model cannot go on from past_key_values: it reads the whole text at once")
        hidden = self.dropout(input_vectors(self.embed_tokens, input_ids, inputs_embeds))
        batch, seq, _ = hidden.shape
        mask = padding_mask(attention_mask, hidden)
        shapes = [[(batch, size) for size in layer.state_sizes] for layer in self.layers]  # type: ignore[union-attr]
        after = []
        for layer, state in zip(self.layers, carried_states(past_key_values, shapes), strict=True):
            hidden, state = layer(hidden, state, mask)
            after.append(state)
        hidden = self._project(hidden, mask)
        if not use_cache or self.config.bidirectional:
            return BaseModelOutputWithPast(hidden)
        seen_tokens = 0 if past_key_values is None else past_key_values.seen_tokens
        return BaseModelOutputWithPast(hidden, RecurrentCache.from_states(after, seen_tokens + seq))

    def _project(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        if self.config.output_projection_size is None:
            return hidden
        hidden = self.output_projection(hidden)
        # Padding is zeros to the projection too, but for its bias.
        return hidden if mask is None else hidden.masked_fill(~mask.unsqueeze(-1), 0.0)


class RecurrentForCausalLM(LargeVocabularyLM, CausalLMHead, RecurrentPreTrainedModel, GenerationMixin):
    """The recurrent language model: the next word's probability from the state after all words before it.

    >>> model = RecurrentForCausalLM(RecurrentConfig(vocab_size=9, cell_type="gru", hidden_size=4)).eval()
    >>> ids = torch.tensor([[3, 1, 4, 1]])
    >>> state = model(ids[:, :3]).past_key_values  # going on from the state equals reading the whole text
    >>> torch.allclose(model(ids[:, 3:], past_key_values=state).logits, model(ids).logits[:, 3:], atol=1e-6)
    True
    """

    base_model_class = RecurrentModel
    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}

    def __init__(self, config: RecurrentConfig):
        super().__init__(config)
        if config.bidirectional:
            raise ValueError(
                "RecurrentForCausalLM predicts from the left context only: set bidirectional=False "
                "(all other recurrent models take bidirectional=True)"
            )
        config.refuse_pooling(type(self).__name__)
        self.model = RecurrentModel(config)
        self.lm_head = OUTPUT_LAYERS[config.output_layer](config)
        self.post_init()


class RecurrentForSequenceClassification(SequenceClassificationHead, RecurrentPreTrainedModel):
    """The classifier of texts, or, with `pair_combination`, of pairs of texts that are read apart.

    A pair is one row, as tokenizers give it: the tokens of the first text have the `token_type_ids` 0, those of the
    second 1, wherever they stand. `from_pretrained` of a saved language model starts from its word vectors and its
    recurrence, with a new `classifier` (Dai & Le 2015).

    >>> model = RecurrentForSequenceClassification(RecurrentConfig(vocab_size=9, hidden_size=4, pair_combination="sum"))
    >>> ids, types = torch.tensor([[3, 1, 4, 1]]), torch.tensor([[0, 0, 1, 1]])
    >>> logits = model(ids, token_type_ids=types).logits
    >>> torch.allclose(model(ids, token_type_ids=1 - types).logits, logits)  # which text comes first, a sum forgets
    True
    """

    base_model_class = RecurrentModel

    def __init__(self, config: RecurrentConfig):
        super().__init__(config)
        if config.bidirectional and config.pooling == "last" and config.output_projection_size is not None:
            raise ValueError(
                "output_projection_size mixes the two directions, whose last states pooling='last' takes apart: set "
                "output_projection_size=None, or pooling='mean' or 'max'"
            )
        self.model = RecurrentModel(config)
        self.model.layers[-1].dropout = nn.Identity()  # what is dropped of the text's vector, its layer need not drop
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.output_size * PAIR_WIDTHS[config.pair_combination], config.num_labels)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        *,
        token_type_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Classify texts, as the head does, or pairs of them, whose texts become rows of their own.

        Args:
            token_type_ids: (batch, seq), see `texts_of_pairs`. A model of single texts takes 0 alone.

        Returns:
            The head's outputs; the `hidden_states` of pairs have 2 * batch rows, the first texts' before the second's.

        Raises:
            ValueError: a pair for a model of single texts, or a single text for one of pairs; labels as the head.
        """
        if self.config.pair_combination is None:
            check_single_texts(token_type_ids)
        else:
            words = input_vectors(self.model.embed_tokens, input_ids, inputs_embeds)
            attention_mask = texts_of_pairs(token_type_ids, real_tokens(attention_mask, words))
            input_ids, inputs_embeds = None, torch.cat((words, words))
        return super().forward(
            input_ids, attention_mask, labels, num_items_in_batch, inputs_embeds=inputs_embeds, **kwargs
        )

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        """x by `pooling`, (batch, output_size); of pairs all that `pair_combination` puts side by side."""
        states = outputs.last_hidden_state
        both_ends = self.config.bidirectional and self.config.pooling == "last"
        pooling = end_states if both_ends else POOLINGS[self.config.pooling]
        x = pooling(states, real_tokens(attention_mask, states))
        if self.config.pair_combination is None:
            return x
        return PAIR_COMBINATIONS[self.config.pair_combination](*x.unflatten(0, (2, -1)))


class RecurrentForTokenClassification(TokenClassificationHead, RecurrentPreTrainedModel):
    """The tagger: a class for each token, from the words up to it, or with `bidirectional` from the whole text.

    >>> model = RecurrentForTokenClassification(RecurrentConfig(vocab_size=9, hidden_size=4, num_labels=3))
    >>> model(torch.tensor([[3, 1, 4, 1]])).logits.shape
    torch.Size([1, 4, 3])
    """

    base_model_class = RecurrentModel

    def __init__(self, config: RecurrentConfig):
        super().__init__(config)
        config.refuse_pooling(type(self).__name__)
        self.model = RecurrentModel(config)
        self.dropout = nn.Identity()  # the last layer's own has acted
        self.classifier = nn.Linear(config.output_size, config.num_labels)
        self.post_init()


def _block(config: RecurrentConfig, input_size: int) -> nn.Module:
    projection = {} if config.projection_size is None else {"proj_size": config.projection_size}
    kernel = partial(KERNELS[config.cell_type], input_size, config.hidden_size, batch_first=True, **projection)
    if not config.bidirectional:
        return RecurrentBlock(kernel(), config.dropout)
    return BidirectionalBlock(RecurrentLayer(kernel()), RecurrentLayer(kernel()), config.dropout)
