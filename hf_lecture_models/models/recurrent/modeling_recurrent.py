# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Recurrent networks as language models, classifiers of texts and of pairs of texts, and taggers.

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

and `output_projection_size` replaces the last layer's h by V h + v, outside the recurrence. Dropout acts on u_l and on
every h_l^k on its way up, never on its way to the next step.

Two directions, h→ from h→_0 = 0 on and h← from h←_{L+1} = 0 back, are joined as h_l = [h→_l; h←_l]. With the last
layer's h_l

    P(tag of w_l = y | w_1 ... w_L) = softmax(W h_l + b)_y           (tagger, slide R:609)
    P(class y | w_1 ... w_L) = softmax(W x + b)_y                    (classifier, slide Y:452)

where x, the text's vector, is by `pooling` (`layers/text_vectors.py`)

    last: h_L, and [h→_L; h←_1] in two directions: each has read the whole text (slide Y:441)
    mean: Σ_l h_l / L
    max:  in each coordinate the largest of h_1, ..., h_L            (slide R:588, "pooling all of the hidden states")

and for two texts with the vectors x, x', read separately by the same weights, by `pair_combination` (slide Y:462)

    sum: x + x'      concat: [x; x']      infersent: [x; x'; |x - x'|; x ⊙ x']

Deviations:
- From the slides: the loss acts on the logits W_o h + b_o, not on h, and also counts the first word and the end, given
  `<s>` (R:637); the LSTM joins h and u along the feature axis and splits the four gates along it (R:533 names the batch
  axis); its cell has an input gate (R:501 has c ⊙ f + g); the logarithm of the softmax is o[w] - log Σ exp o (Y:425).
- torch's kernels keep two biases whose sum is the b above, and order the gates r, z, n and i, f, g, o.
- The GRU's reset gate acts after the matrix product, as in torch and cuDNN; Cho et al. write it before: B (r ⊙ h).
- No peephole connections, and no extra forget bias: all recurrent weights and biases start uniform within
  1/sqrt(hidden_size), torch's rule.
- No recurrent batch normalisation (slide R:576).
- Elman's and Mikolov's hidden units are logistic; here, as on the slide Y:415, tanh.
- The slide's classifier has one output and σ; here it has num_labels outputs and a softmax, or σ with num_labels=1 and
  problem_type="multi_label_classification".
- The `<s>` in front of a text is read, and its state pooled, like those of the words.
- The classifier's dropout acts on the pooled x, and the language model's on the last layer's h_l: the maximum of h_l
  that dropout has scaled up would be larger in training than in evaluation.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers.generation import GenerationMixin
from transformers.modeling_layers import GradientCheckpointingLayer

from hf_lecture_models.base.heads.causal_lm import CausalLMHead
from hf_lecture_models.base.heads.classification import SequenceClassificationHead, TokenClassificationHead
from hf_lecture_models.base.large_vocabulary import LargeVocabularyLM
from hf_lecture_models.base.modeling import LayeredPreTrainedModel
from hf_lecture_models.base.stateful_text import StatefulTextModel
from hf_lecture_models.layers.inputs import input_vectors
from hf_lecture_models.layers.recurrent_cache import State
from hf_lecture_models.layers.recurrent_layer import KERNELS, BidirectionalLayer, RecurrentLayer
from hf_lecture_models.layers.text_vectors import (
    PAIR_COMBINATIONS,
    POOLINGS,
    check_single_texts,
    real_tokens,
    texts_of_pairs,
)
from hf_lecture_models.models.recurrent.configuration_recurrent import RecurrentConfig


class RecurrentBlock(GradientCheckpointingLayer, RecurrentLayer):
    """One layer of the stack: h_l^k = q_k(h_{l-1}^k, h_l^{k-1})."""


class BidirectionalBlock(GradientCheckpointingLayer, BidirectionalLayer):
    """One layer of the stack that reads both ways: h_l^k = [h→; h←]."""


class RecurrentPreTrainedModel(LayeredPreTrainedModel):
    """The base of all recurrent models."""

    config: RecurrentConfig
    _is_stateful = True


class RecurrentModel(StatefulTextModel, RecurrentPreTrainedModel):
    """Word vectors, a stack of recurrent layers, and, if `output_projection_size` is set, a linear map at the end.

    A bidirectional model reads whole texts: it neither takes nor returns a state.

    >>> model = RecurrentModel(RecurrentConfig(vocab_size=9, hidden_size=4, bidirectional=True))
    >>> model(torch.tensor([[3, 1, 4]])).last_hidden_state.shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, config: RecurrentConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.input_size)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList([_block(config, config.input_size)])
        for _ in range(config.num_hidden_layers - 1):
            self.layers.append(_block(config, config.layer_output_size))
        self.output_projection: nn.Module = nn.Identity()
        if config.output_projection_size is not None:
            self.output_projection = nn.Linear(config.layer_output_size, config.output_projection_size)
        self.post_init()

    def read(
        self, words: Tensor, mask: Tensor | None, states: list[State | None]
    ) -> tuple[Tensor, list[State | None] | None]:
        """Go up the stack, each layer from its own state; then V h + v."""
        hidden, after = self.dropout(words), []
        for layer, state in zip(self.layers, states, strict=True):
            hidden, state = layer(hidden, state, mask)
            after.append(state)
        hidden = self.output_projection(hidden)
        # The projection's bias would make padding other than zero.
        if mask is not None and self.config.output_projection_size is not None:
            hidden = hidden.masked_fill(~mask.unsqueeze(-1), 0.0)
        return hidden, None if self.config.bidirectional else after

    def state_shapes(self, batch: int) -> list[list[tuple[int, ...]]]:
        """(batch, size) for each tensor of each layer's state."""
        layer: Any = self.layers[0]
        return [[(batch, size) for size in layer.state_sizes]] * len(self.layers)


def _block(config: RecurrentConfig, input_size: int) -> nn.Module:
    projection = {} if config.projection_size is None else {"proj_size": config.projection_size}
    kernel = partial(KERNELS[config.cell_type], input_size, config.hidden_size, batch_first=True, **projection)
    if not config.bidirectional:
        return RecurrentBlock(kernel(), config.dropout)
    return BidirectionalBlock(RecurrentLayer(kernel()), RecurrentLayer(kernel()), config.dropout)


class RecurrentForCausalLM(LargeVocabularyLM, CausalLMHead, RecurrentPreTrainedModel, GenerationMixin):
    """The recurrent language model: the next word's probability from the state after all words before it.

    >>> model = RecurrentForCausalLM(RecurrentConfig(vocab_size=9, cell_type="gru", hidden_size=4)).eval()
    >>> ids = torch.tensor([[3, 1, 4, 1]])
    >>> state = model(ids[:, :3]).past_key_values  # continuing from the state equals reading the whole text
    >>> torch.allclose(model(ids[:, 3:], past_key_values=state).logits, model(ids).logits[:, 3:], atol=1e-6)
    True
    """

    base_model_class = RecurrentModel

    def add_layers(self, config: RecurrentConfig) -> None:
        """Build `lm_head`."""
        config.check_reader(type(self).__name__, left_to_right=True)
        super().add_layers(config)


class RecurrentForSequenceClassification(SequenceClassificationHead, RecurrentPreTrainedModel):
    """The classifier of texts, or, with `pair_combination`, of pairs of texts that are read separately.

    A pair is one row, as tokenizers give it, with `token_type_ids` (batch, seq): 0 for the tokens of the first text, 1
    for those of the second, wherever they are. The `hidden_states` of pairs have 2 * batch rows, those of the first
    texts before those of the second. `from_pretrained` of a saved language model starts from its word vectors and its
    recurrence, with a new `classifier` (Dai & Le 2015).

    >>> model = RecurrentForSequenceClassification(RecurrentConfig(vocab_size=9, hidden_size=4, pair_combination="sum"))
    >>> ids, types = torch.tensor([[3, 1, 4, 1]]), torch.tensor([[0, 0, 1, 1]])
    >>> logits = model(ids, token_type_ids=types).logits
    >>> torch.allclose(model(ids, token_type_ids=1 - types).logits, logits)  # a sum does not depend on the texts' order
    True
    """

    base_model_class = RecurrentModel
    extra_arguments = ("token_type_ids",)

    def add_layers(self, config: RecurrentConfig) -> None:
        """Build the classifier of x; dropout acts on x, and no longer on the last layer's h_l."""
        config.check_classifier()
        self.model.layers[-1].dropout = nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.text_vector_size, config.num_labels)

    def read_texts(self, inputs: dict[str, Any]) -> tuple[Any, Tensor]:
        """Read each text of a pair as a row of its own."""
        types = inputs.pop("token_type_ids", None)
        if self.config.pair_combination is None:
            check_single_texts(types)
        else:
            words = input_vectors(self.model.embed_tokens, inputs["input_ids"], inputs.get("inputs_embeds"))
            inputs["attention_mask"] = texts_of_pairs(types, real_tokens(inputs["attention_mask"], words))
            inputs["input_ids"], inputs["inputs_embeds"] = None, torch.cat((words, words))
        return super().read_texts(inputs)

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        """x by `pooling`, (batch, output_size); for pairs, both x joined by `pair_combination`."""
        states, pooling = outputs.last_hidden_state, self.config.pooling
        if self.config.bidirectional and pooling == "last":
            pooling = "ends"  # [h→_L; h←_1]
        x = POOLINGS[pooling](states, real_tokens(attention_mask, states))
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

    def add_layers(self, config: RecurrentConfig) -> None:
        """Build the classifier of h_l, on which the last layer's dropout has acted."""
        config.check_reader(type(self).__name__)
        self.dropout = nn.Identity()
        self.classifier = nn.Linear(config.output_size, config.num_labels)
