# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The feed-forward language model.

Bengio, Ducharme, Vincent & Jauvin, "A neural probabilistic language model", JMLR 3, 2003, section 2, equation 1;
Schwenk, "Continuous space language models", Computer Speech & Language 21, 2007; Le, Allauzen, Wisniewski & Yvon,
"Training continuous space language models: some practical issues", EMNLP 2010 (all words started from one vector).
Slides Y:250-309.

With word vectors C(w) and the context of a word, its n - 1 predecessors, nearest first,

    x = [C(w_{t-1}); C(w_{t-2}); ...; C(w_{t-n+1})]
    y = b + W x + U tanh(d + H x)
    P(w_t = k | w_{t-1} ... w_{t-n+1}) = softmax(y)[k]

On the slide C is R, H is W_ih, d is b_ih, U is W_ho and b is b_ho. W, the direct connections, is there with
`direct_connections` only. With m = `embedding_size`, h = `hidden_size` and V words there are

    V (1 + n m + h) + h (1 + (n - 1) m)   numbers to learn with direct connections (the paper's count),
    V (1 + m + h)   + h (1 + (n - 1) m)   without,
    V (1 + m)       + m (1 + (n - 1) m)   where U = C is tied.

The last hidden state is tanh(d + H x), or with direct connections [tanh(d + H x); x], and the output layer then holds
[U | W] and b: one matrix product, whose loss is computed in pieces like any other's.

C and U: `initialization` and `tie_word_embeddings` say whether they start apart, start equal, or stay one. Slide Y:303
explains "1 vector init" as sharing R and W_ho at the start, which here is "equal". What Le et al. propose under that
name is "one_vector": all rows of C start as one random vector, U at random. The gradient moves only words that occur,
so rare words stay near the common start and near each other, instead of each at a random place.

Deviations:
- The slide's o = tanh(h)^T W_ho and i^T W_ih are the transposed matrices; its context has three words, here any number.
- Before the first word of a row stand as many `<s>` as the context needs; without a `bos_token_id`, zero vectors.
- Dropout on x and on the hidden layer is younger than the papers.
- The papers' initial values, learning rates and weight decay are not built in; matrices start normal with standard
  deviation `initializer_range`, biases at zero.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import BaseModelOutputWithPast

from hf_lecture_models.base.heads.causal_lm import CausalLMHead
from hf_lecture_models.base.large_vocabulary import OUTPUT_LAYERS, LargeVocabularyLM
from hf_lecture_models.base.modeling import LecturePreTrainedModel, model_forward
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.context_windows import context_windows
from hf_lecture_models.layers.inputs import input_vectors, padding_mask
from hf_lecture_models.layers.recurrent_cache import RecurrentCache, carried_states
from hf_lecture_models.models.feed_forward.configuration_feed_forward import FeedForwardConfig


class FeedForwardPreTrainedModel(LecturePreTrainedModel):
    """What all feed-forward models share."""

    config: FeedForwardConfig
    config_class = FeedForwardConfig
    base_model_prefix = "model"
    _is_stateful = True

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.Embedding) and self.config.initialization == "one_vector":
            init.copy_(module.weight, module.weight[:1].clone().expand_as(module.weight))


class FeedForwardModel(FeedForwardPreTrainedModel):
    """Word vectors and the hidden layer over the n - 1 last of them.

    `forward` reads sequences of ids (batch, seq), or of `inputs_embeds` (batch, seq, input_size). In `attention_mask`
    (batch, seq) 1 is a real token; a mask that also covers what the cache has seen is cut to the last steps. Padding,
    wherever it stands, outputs zeros and is no part of any context. `past_key_values` holds the n - 2 word vectors
    before the first step and is not changed; with `use_cache` those before the next step come back as a new one.

    It returns `last_hidden_state` (batch, seq, config.output_size), `past_key_values`, and on request `hidden_states`:
    the word vectors and the last hidden state.

    >>> model = FeedForwardModel(FeedForwardConfig(vocab_size=9, order=3, hidden_size=4, bos_token_id=8))
    >>> model(torch.tensor([[8, 3, 1]])).last_hidden_state.shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, config: FeedForwardConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.input_size)
        self.hidden_layer = nn.Linear(config.context_size, config.hidden_size)
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: RecurrentCache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: bool,
    ) -> BaseModelOutputWithPast:
        """Read the sequences, from their beginning or after the words in `past_key_values`."""
        vectors = input_vectors(self.embed_tokens, input_ids, inputs_embeds)
        mask = padding_mask(attention_mask, vectors)
        context, after = context_windows(self._words_before(past_key_values, vectors), vectors, mask)
        x = self.dropout(context)  # (batch, seq, (n - 1) * input_size)
        hidden = self.dropout(torch.tanh(self.hidden_layer(x)))
        if self.config.direct_connections:
            hidden = torch.cat((hidden, x.to(hidden.dtype)), -1)
        if mask is not None:
            hidden = hidden.masked_fill(~mask.unsqueeze(-1), 0.0)
        seen_tokens = 0 if past_key_values is None else past_key_values.seen_tokens
        return BaseModelOutputWithPast(
            last_hidden_state=hidden,
            past_key_values=RecurrentCache.from_states([(after,)], seen_tokens + vectors.shape[1])
            if use_cache
            else None,
            hidden_states=self.shown_states(output_hidden_states, vectors, hidden),
        )

    def _words_before(self, cache: RecurrentCache | None, vectors: Tensor) -> Tensor:
        """(batch, n - 2, input_size): with the first word itself, they make the first context."""
        shape = (vectors.shape[0], self.config.order - 2, self.config.input_size)
        (state,) = carried_states(cache, [[shape]])
        if state is not None:
            return state[0]
        if self.config.bos_token_id is None:
            return vectors.new_zeros(shape)
        start = torch.full(shape[:2], self.config.bos_token_id, device=vectors.device)
        # Past the module's hooks: programs that measure what tokens contribute, or add noise to them, mean the input's.
        return self.embed_tokens.forward(start).to(vectors.dtype)


class FeedForwardForCausalLM(LargeVocabularyLM, CausalLMHead, FeedForwardPreTrainedModel, GenerationMixin):
    """The feed-forward language model: the next word's probability from the n - 1 words before it.

    >>> model = FeedForwardForCausalLM(FeedForwardConfig(vocab_size=9, order=3, hidden_size=4, bos_token_id=8))
    >>> ids = torch.tensor([[8, 3, 1, 4]])
    >>> model(ids, labels=ids).logits.shape, model.score(ids)[0, 0].item()
    (torch.Size([1, 4, 9]), 0.0)
    """

    base_model_class = FeedForwardModel
    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}

    def __init__(self, config: FeedForwardConfig):
        super().__init__(config)
        self.model = FeedForwardModel(config)
        self.lm_head = OUTPUT_LAYERS[config.output_layer](config)  # [U | W] and b
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        # The word vectors, in the part that comes first, have their values by now; offloaded matrices are loaded ones.
        output = self.get_parameter("lm_head.weight") if self.config.starts_equal else None
        if module is self.lm_head and output is not None and not output.is_meta:
            direct = output[:, self.config.hidden_size :]
            init.copy_(output, torch.cat((self.get_parameter("model.embed_tokens.weight"), direct), 1))
