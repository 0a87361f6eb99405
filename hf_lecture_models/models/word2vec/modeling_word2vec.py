# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""word2vec: a vector for each word; words with similar neighbours get similar vectors (slides R:678-690).

Mikolov, Chen, Corrado & Dean, "Efficient estimation of word representations in vector space", ICLR workshop 2013 (the
two architectures); Mikolov, Sutskever, Chen, Corrado & Dean, "Distributed representations of words and phrases and
their compositionality", NeurIPS 2013 (their training, `layers/word_prediction.py`).

Each word w has an input vector u_w. For the words w_1, ..., w_L of a text and each position t, with a window of b_t
words on both sides, b_t drawn evenly from 1, ..., window_size:

    skip_gram   h = u_{w_t} predicts each w_s, 0 < |s - t| ≤ b_t:    a pair (t, s) for each word in the window
    cbow        h = the mean of u_{w_s}, 0 < |s - t| ≤ b_t, predicts w_t:    one pair for each position

A pair (h, w) costs, with v the vectors of the output layer,

    negative_sampling      -ln σ(h · v_w) - Σ_{i=1}^k ln σ(-h · v_{n_i}),  n_i ~ count^noise_exponent (equation 4)
    hierarchical_softmax   -Σ_j ln σ(±h · v_{n(w,j)}), the choices on the way to w in a Huffman tree    (equation 3)

and the loss is the mean over the pairs of a batch. The slide's tokenizer τ_θ(w) is u_w.

In evaluation mode windows and noise are drawn from a generator with a fixed seed, so that the same batch always has the
same loss.

`<s>`, `</s>`, padding and the unknown word are left out: windows skip them, and their vectors stay 0.

Deviations:
- The papers' loss is a sum over the text; here it is the mean over pairs.
- Frequent words are subsampled by the data (`tasks/word_vectors/windows.py`), as in the authors' program.
- CBOW's h is the mean, as in the authors' program (word2vec.c). Each u_{w_s} gets its share of h's gradient; in that
  program and in gensim each word of the window gets all of it.
- `forward` computes the equations, and autograd their gradients. Training by `train_word2vec.py` computes the same
  gradients block by block (`tasks/word_vectors/updates.py`).
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput
from transformers.utils.generic import ModelOutput, can_return_tuple

from hf_lecture_models.base.fixed_vocabulary import keep_vocabulary
from hf_lecture_models.base.heads.losses import NOT_COUNTED, class_labels, mean_over_items
from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.base.token_counts import CountedOutputLayer
from hf_lecture_models.layers.initial_weights import SmallEmbedding
from hf_lecture_models.layers.input_codings import word_mask
from hf_lecture_models.layers.inputs import look_up, real_token_mask, token_ids
from hf_lecture_models.layers.word_prediction import HierarchicalSoftmax, NegativeSampling
from hf_lecture_models.models.word2vec.configuration_word2vec import Word2VecConfig
from hf_lecture_models.models.word2vec.pretrained_word2vec import Word2VecFiles, Word2VecPreTrainedModel


class Word2VecModel(Word2VecFiles, Word2VecPreTrainedModel):
    """The vector of each word, whatever the words around it.

    `forward` reads ids (batch, seq) and returns `last_hidden_state` (batch, seq, hidden), zeros where `attention_mask`
    (batch, seq) is 0; on request `hidden_states`, which holds this alone.

    >>> model = Word2VecModel(Word2VecConfig(vocab_size=9, hidden_size=4))
    >>> vectors = model(torch.tensor([[3, 1, 3]])).last_hidden_state
    >>> vectors.shape, bool((vectors[0, 0] == vectors[0, 2]).all())
    (torch.Size([1, 3, 4]), True)
    """

    def __init__(self, config: Word2VecConfig):
        super().__init__(config)
        self.embed_tokens = SmallEmbedding(config.vocab_size, config.hidden_size, config.special_ids)
        self.post_init()

    @model_forward
    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: bool) -> BaseModelOutput:
        """Look the words up."""
        ids = token_ids(input_ids)
        real = real_token_mask(ids, attention_mask, None)
        vectors = look_up(self.embed_tokens, ids).where(real.unsqueeze(-1), 0.0)
        return BaseModelOutput(vectors, self.shown_states(kwargs.get("output_hidden_states"), vectors))


@dataclass
class Word2VecForPreTrainingOutput(ModelOutput):
    """The outputs of `Word2VecForPreTraining`.

    Attributes:
        loss: scalar, nats, the mean over pairs; None without labels.
        last_hidden_state: (batch, seq, hidden), the h of each position.
        num_pairs: number of pairs that the loss is the mean of; None without labels.
    """

    loss: Tensor | None = None
    last_hidden_state: Tensor | None = None
    num_pairs: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None


class Word2VecForPreTraining(CountedOutputLayer, ModelHead, Word2VecPreTrainedModel):
    """Input and output vectors, and the loss that trains both.

    >>> config = Word2VecConfig(vocab_size=9, hidden_size=4, window_size=1)
    >>> ids = torch.tensor([[3, 1, 4]])
    >>> outputs = Word2VecForPreTraining(config).eval()(ids, labels=ids)
    >>> outputs.num_pairs.item()  # (3, 1), (1, 3), (1, 4), (4, 1)
    4
    """

    base_model_class = Word2VecModel
    output_layer_name = "output"
    accepts_loss_kwargs = False  # transformers' Trainer would count words as items, but items are pairs
    output: NegativeSampling | HierarchicalSoftmax

    def add_layers(self, config: Word2VecConfig) -> None:
        """Build the output vectors v."""
        sizes = (config.vocab_size, config.hidden_size)
        if config.output_layer == "negative_sampling":
            self.output = NegativeSampling(*sizes, config.num_negatives, config.noise_exponent)
        else:
            self.output = HierarchicalSoftmax(*sizes)

    @can_return_tuple
    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **kwargs: Any
    ) -> Word2VecForPreTrainingOutput:
        """Predict words from their neighbours.

        Args:
            input_ids: (batch, seq), a text in each row.
            attention_mask: (batch, seq), 1 = real token.
            labels: (batch, seq), the words to predict: `input_ids` as a rule; -100 is not counted.

        Raises:
            ValueError: ids or labels of another shape or type, or outside the vocabulary.
        """
        outputs = self.base_model_outputs(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        words = word_mask(token_ids(input_ids), attention_mask, self.config.special_ids)
        fixed = labels is not None and not self.training
        generator = torch.Generator(words.device).manual_seed(0) if fixed else None
        windows = self.windows(words, generator, drawn=labels is not None)
        hidden = outputs.last_hidden_state
        if self.config.architecture == "cbow":
            share = windows.to(hidden.dtype)
            hidden = (share / share.sum(-1, keepdim=True).clamp(min=1)) @ hidden
        if labels is None:
            return Word2VecForPreTrainingOutput(None, hidden, None, outputs.get("hidden_states"))
        labels = class_labels(labels, words.shape, self.config.vocab_size).to(words.device)
        counted = words & (labels != NOT_COUNTED)
        if self.config.architecture == "cbow":
            row, place = (windows.any(-1) & counted).nonzero(as_tuple=True)
            target = place
        else:
            row, place, target = (windows & counted[:, None]).nonzero(as_tuple=True)
        losses = self.output(hidden[row, place], labels[row, target], generator)
        count = torch.tensor(len(row), device=words.device)
        return Word2VecForPreTrainingOutput(
            mean_over_items(losses.sum(), count), hidden, count, outputs.get("hidden_states")
        )

    def windows(self, words: Tensor, generator: torch.Generator | None = None, drawn: bool = True) -> Tensor:
        """(batch, seq, seq) bool: True where the second position is in the window of the first.

        Windows skip positions that are not `words` (batch, seq). Their sizes are drawn, or else all `window_size`.
        """
        largest = self.config.window_size
        size: Tensor | int = largest
        if drawn:
            size = torch.randint(1, largest + 1, (*words.shape, 1), generator=generator, device=words.device)
        number = words.cumsum(1)
        distance = (number[:, :, None] - number[:, None, :]).abs()
        return (distance > 0) & (distance <= size) & words[:, :, None] & words[:, None, :]

    def get_output_embeddings(self) -> Any:
        """Return the output vectors; None with a hierarchical softmax, where they belong to nodes and not to words."""
        return self.output if isinstance(self.output, NegativeSampling) else None

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse to resize: the output layer is built on the counts of its words."""
        return keep_vocabulary(self, _CANNOT_RESIZE, *args, **kwargs)


_CANNOT_RESIZE = (
    "a Word2VecForPreTraining cannot be resized: its output layer is built on the counts of its words; train a new "
    "model with vocab_size=len(tokenizer), or resize its input vectors, `.model`"
)
