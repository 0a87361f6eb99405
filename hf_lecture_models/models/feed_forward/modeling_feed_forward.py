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

On the slide C is R, H is W_ih, d is b_ih, U is W_ho and b is b_ho. W, the direct connections, needs
`direct_connections`. With m = `embedding_size`, h = `hidden_size` and V words there are

    V (1 + n m + h) + h (1 + (n - 1) m)   numbers to learn with direct connections (the paper's count),
    V (1 + m + h)   + h (1 + (n - 1) m)   without,
    V (1 + m)       + m (1 + (n - 1) m)   where U = C is tied.

The last hidden state is tanh(d + H x), or with direct connections [tanh(d + H x); x], and the output layer then holds
[U | W] and b: one matrix product, whose loss is computed in pieces like that of any output layer.

By `initialization` and `tie_word_embeddings`, C and U start independently, start equal, or are one matrix. Slide Y:303
explains "1 vector init" as sharing R and W_ho at the start, which here is "equal". Le et al. use that name for
"one_vector": all rows of C start as one random vector, U at random. The gradient moves only words that occur, so rare
words stay near the common start and near each other, instead of each at a random place.

Deviations:
- The slide's o = tanh(h)^T W_ho and i^T W_ih are the transposed matrices; its context has three words, here any number.
- The context before the first word of a row is filled with `<s>`, or with zero vectors without a `bos_token_id`.
- Dropout on x and on the hidden layer was invented after the papers.
- The papers' initial values, learning rates and weight decay are not used; matrices start normal with standard
  deviation `initializer_range`, biases at zero.
"""

import torch
from torch import Tensor, nn
from transformers.generation import GenerationMixin

from hf_lecture_models.base.heads.causal_lm import CausalLMHead
from hf_lecture_models.base.large_vocabulary import LargeVocabularyLM
from hf_lecture_models.base.modeling import LecturePreTrainedModel
from hf_lecture_models.base.stateful_text import StatefulTextModel
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.context_windows import context_windows
from hf_lecture_models.layers.initial_weights import OneVectorEmbedding
from hf_lecture_models.layers.recurrent_cache import State
from hf_lecture_models.models.feed_forward.configuration_feed_forward import FeedForwardConfig


class FeedForwardPreTrainedModel(LecturePreTrainedModel):
    """The base of both feed-forward models."""

    config: FeedForwardConfig
    _is_stateful = True


class FeedForwardModel(StatefulTextModel, FeedForwardPreTrainedModel):
    """Word vectors and the hidden layer over the n - 1 last of them; padding is not part of any context.

    Its state holds the n - 2 word vectors before the first word: with the word's own, they make the first context.

    >>> model = FeedForwardModel(FeedForwardConfig(vocab_size=9, order=3, hidden_size=4, bos_token_id=8))
    >>> model(torch.tensor([[8, 3, 1]])).last_hidden_state.shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, config: FeedForwardConfig):
        super().__init__(config)
        embedding = OneVectorEmbedding if config.initialization == "one_vector" else nn.Embedding
        self.embed_tokens = embedding(config.vocab_size, config.input_size)
        self.hidden_layer = nn.Linear(config.context_size, config.hidden_size)
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    def read(self, words: Tensor, mask: Tensor | None, states: list[State | None]) -> tuple[Tensor, list[State]]:
        """Compute tanh(d + H x), or [tanh(d + H x); x], for the context x of each word."""
        before = self._start(words) if states[0] is None else states[0][0]
        context, after = context_windows(before, words, mask)
        x = self.dropout(context)  # (batch, seq, (n - 1) * input_size)
        hidden = self.dropout(torch.tanh(self.hidden_layer(x)))
        if self.config.direct_connections:
            hidden = torch.cat((hidden, x.to(hidden.dtype)), -1)
        if mask is not None:
            hidden = hidden.masked_fill(~mask.unsqueeze(-1), 0.0)
        return hidden, [(after,)]

    def state_shapes(self, batch: int) -> list[list[tuple[int, ...]]]:
        """(batch, n - 2, input_size)."""
        return [[(batch, self.config.order - 2, self.config.input_size)]]

    def _start(self, words: Tensor) -> Tensor:
        """The vectors before the first word of a text: `<s>`, or zeros."""
        ((shape,),) = self.state_shapes(words.shape[0])
        if self.config.bos_token_id is None:
            return words.new_zeros(shape)
        start = torch.full(shape[:2], self.config.bos_token_id, device=words.device)
        # `forward` runs no hooks: programs that measure the tokens' share, or add noise to them, mean the input only.
        return self.embed_tokens.forward(start).to(words.dtype)


class FeedForwardForCausalLM(LargeVocabularyLM, CausalLMHead, FeedForwardPreTrainedModel, GenerationMixin):
    """The feed-forward language model: the next word's probability from the n - 1 words before it.

    >>> model = FeedForwardForCausalLM(FeedForwardConfig(vocab_size=9, order=3, hidden_size=4, bos_token_id=8))
    >>> ids = torch.tensor([[8, 3, 1, 4]])
    >>> model(ids, labels=ids).logits.shape, model.score(ids)[0, 0].item()
    (torch.Size([1, 4, 9]), 0.0)
    """

    base_model_class = FeedForwardModel

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        # C is set before, since the base model comes first; offloaded matrices, on the meta device, are loaded ones.
        if self.config.starts_equal and module is self.lm_head:
            output = self.get_parameter("lm_head.weight")  # [U | W]
            if not output.is_meta:
                C, W = self.model.embed_tokens.weight, output[:, self.config.hidden_size :]
                init.copy_(output, torch.cat((C, W), 1))
