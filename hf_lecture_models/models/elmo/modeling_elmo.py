# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ELMo: vectors of words in context, made by a language model in each direction; and its pre-training.

Peters, Neumann, Iyyer, Gardner, Clark, Lee & Zettlemoyer, "Deep contextualized word representations", NAACL 2018,
sections 3.1 to 3.3. Slides R:692-750.

The characters of the word at l give its vector (`layers/character_cnn.py`, `layers/highway.py`)

    h_{0,l} = W highway(... highway(cnn(characters of l))) + b

which two separate stacks of K LSTMs with projection read, from left to right and from right to left:

    h→_{k,l} = LSTM_k(h→_{k,l-1}, h→_{k-1,l}) [+ h→_{k-1,l} for k > 1]
    h←_{k,l} = LSTM'_k(h←_{k,l+1}, h←_{k-1,l}) [+ h←_{k-1,l} for k > 1]

In pre-training each direction predicts its next word, by one softmax for both:

    loss = -Σ_l (ln softmax(V h→_{K,l-1} + v)[u_l] + ln softmax(V h←_{K,l+1} + v)[u_l])

A task replaces its own vector x_l of a word by x̃_l, with s = softmax(w) (`layers/layer_mix.py`),

    x̃_l = [x_l; γ Σ_k s_k h→_{k,l}; γ Σ_k s_k h←_{k,l}],  k = 0, ..., K,  h→_0 = h←_0 = h_0

`modeling_elmo_tasks.py` has three heads. Their x_l comes from convolutions over the word's characters that are trained
with the task; a bidirectional LSTM reads x̃, and a linear layer its states, for each word (tags, ends of answers) or
their maximum over the text (classes).

Deviations:
- From the slide R:727: s is normalised and γ scales it (the paper's equation 1); the language model is trained before
  the task, and may be frozen then (the paper's 3.3); the slide trains both together.
- The loss is the mean over all predictions of both directions; each direction also predicts the mark, `<S>` or `</S>`,
  that it reaches last.
- The task models of the paper differ from task to task, with attention and a CRF; here all have the same small one.
- The paper's optional weight decay towards equal s and layer norm in the mix are left out.
- The LSTMs' weights and biases start uniform within 1/sqrt(hidden_size), by the rule of torch, which has two biases
  where the formula has one; all other weights start as in the authors' code (bilm-tf).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.utils.generic import ModelOutput

from hf_lecture_models.base.heads.bidirectional_lm import BidirectionalLMHead
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.base.token_counts import CountedOutputLayer
from hf_lecture_models.io.compat import CACHE
from hf_lecture_models.layers.character_cnn import CharacterCnn, character_ids
from hf_lecture_models.layers.clipped_lstm import ClippedLstmLayer
from hf_lecture_models.layers.highway import Highway
from hf_lecture_models.layers.inputs import padding_mask
from hf_lecture_models.layers.recurrent_cache import RecurrentCache, State, carried_states, seen_tokens
from hf_lecture_models.layers.sampled_softmax import SampledSoftmaxLinear
from hf_lecture_models.models.elmo.configuration_elmo import ElmoConfig
from hf_lecture_models.models.elmo.pretrained_elmo import ElmoFiles, ElmoPreTrainedModel


@dataclass
class ElmoModelOutput(ModelOutput):
    """The outputs of `ElmoModel`.

    Attributes:
        last_hidden_state: (batch, seq, 2 * projection_size), [h→_K; h←_K].
        layer_states: (batch, seq, (num_hidden_layers + 1) * 2 * projection_size), [h→_k; h←_k] for k = 0, ..., K.
        past_key_values, hidden_states: h and c of both directions, and `layer_states`, layer by layer, if asked for.
    """

    last_hidden_state: Tensor | None = None
    layer_states: Tensor | None = None
    if CACHE == "cache":
        cache: RecurrentCache | None = None
    else:
        past_key_values: RecurrentCache | None = None
    hidden_states: tuple[Tensor, ...] | None = None


class ElmoLayer(GradientCheckpointingLayer):
    """One layer of both stacks: [h→_{k-1}; h←_{k-1}] to [h→_k; h←_k]; neither direction reads the other."""

    def __init__(self, config: ElmoConfig, skips: bool):
        super().__init__()
        width = config.projection_size
        kernels = (nn.LSTM(width, config.hidden_size, batch_first=True, proj_size=width) for _ in range(2))
        self.forwards, self.backwards = (
            ClippedLstmLayer(kernel, config.cell_clip, config.projection_clip) for kernel in kernels
        )
        self.dropout, self.skips = nn.Dropout(config.dropout), skips
        self.state_sizes = (*self.forwards.state_sizes, *self.backwards.state_sizes)

    def forward(self, hidden: Tensor, state: State | None = None, mask: Tensor | None = None) -> tuple[Tensor, State]:
        """Read `hidden` (batch, seq, 2 * projection_size) both ways; in `mask` (batch, seq) True is a real word.

        `state` is h and c of the forward direction before the first word, and of the backward one after the last.
        """
        hidden = self.dropout(hidden)
        left, right = hidden.chunk(2, -1)
        ahead, after = self.forwards(left, state and state[:2], mask)
        # In the flipped row the last real word comes first, after any padding.
        back, before = self.backwards(right.flip(1), state and state[2:], None if mask is None else mask.flip(1))
        output = torch.cat((ahead, back.flip(1)), -1)
        return (output + hidden if self.skips else output), (*after, *before)


class ElmoModel(ElmoFiles, ElmoPreTrainedModel):
    """The language models of both directions without their softmax: each word's vectors in context.

    `forward` reads character ids (batch, seq, max_characters_per_token), as `ElmoTokenizer` gives them. In
    `attention_mask` (batch, seq) 1 is a real word. Padding, wherever it is, outputs zeros and leaves the state as it
    was. `past_key_values` is the state to start from, zero by default, and is not changed; with `use_cache` the state
    at the end is returned. The backward direction continues from its state before the first word.

    >>> shape = {"char_filters": [[2, 5]], "hidden_size": 8, "projection_size": 4}
    >>> model = ElmoModel(ElmoConfig(**shape))
    >>> model(torch.ones(2, 3, 50, dtype=int)).last_hidden_state.shape
    torch.Size([2, 3, 8])
    """

    def __init__(self, config: ElmoConfig):
        super().__init__(config)
        self.characters = CharacterCnn(
            config.vocab_size, config.char_embedding_size, config.char_filters, config.char_activation
        )
        self.highways = nn.ModuleList(Highway(config.num_filters) for _ in range(config.num_highway_layers))
        self.projection = nn.Linear(config.num_filters, config.projection_size)
        skips = [config.use_skip_connections and k > 0 for k in range(config.num_hidden_layers)]
        self.layers = nn.ModuleList(ElmoLayer(config, skip) for skip in skips)
        self.post_init()

    def word_vectors(self, input_ids: Tensor) -> Tensor:
        """h_0: (batch, seq, characters) to (batch, seq, projection_size)."""
        hidden = self.characters(character_ids(input_ids, self.config.max_characters_per_token))
        for highway in self.highways:
            hidden = highway(hidden)
        return self.projection(hidden)

    @model_forward
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: RecurrentCache | None = None,
        use_cache: bool | None = None,
        **kwargs: bool,
    ) -> ElmoModelOutput:
        """Read the texts, from zero states or from those in `past_key_values`."""
        hidden = self.word_vectors(input_ids)
        mask = padding_mask(attention_mask, hidden, seen_tokens(past_key_values))
        if mask is not None:
            hidden = hidden.masked_fill(~mask.unsqueeze(-1), 0.0)
        hidden = torch.cat((hidden, hidden), -1)  # h→_0 and h←_0
        batch, seq, _ = hidden.shape
        shapes = [[(batch, size) for size in layer.state_sizes] for layer in self.layers]  # type: ignore[union-attr]
        layers, after = [hidden], []
        for layer, state in zip(self.layers, carried_states(past_key_values, shapes), strict=True):
            hidden, state = layer(hidden, state, mask)
            layers.append(hidden)
            after.append(state)
        cache = RecurrentCache.after(past_key_values, after, seq) if use_cache else None
        return ElmoModelOutput(hidden, torch.cat(layers, -1), cache)


class ElmoForPreTraining(CountedOutputLayer, BidirectionalLMHead, ElmoPreTrainedModel):
    """The language model of each direction, with one softmax over `num_words` words for both.

    >>> shape = {"char_filters": [[2, 5]], "hidden_size": 8, "projection_size": 4, "num_words": 7}
    >>> model = ElmoForPreTraining(ElmoConfig(**shape))
    >>> labels = torch.tensor([[0, 5, 1]])  # <S> word </S>: the word twice, <S> and </S> once each
    >>> float(model(torch.ones(1, 3, 50, dtype=int), labels=labels).loss) > 0
    True
    """

    base_model_class = ElmoModel

    def add_layers(self, config: ElmoConfig) -> None:
        """Build the softmax of both directions."""
        samples, sizes = config.softmax_samples, (config.projection_size, config.num_words)
        self.lm_head = nn.Linear(*sizes) if samples is None else SampledSoftmaxLinear(*sizes, samples)
