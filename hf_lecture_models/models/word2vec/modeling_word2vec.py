# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""word2vec: a vector for each word, such that words with similar neighbours get similar vectors (slides R:678-690).

Mikolov, Chen, Corrado & Dean, "Efficient estimation of word representations in vector space", ICLR workshop 2013 (the
two architectures); Mikolov, Sutskever, Chen, Corrado & Dean, "Distributed representations of words and phrases and
their compositionality", NeurIPS 2013 (what they are trained with, `layers/word_prediction.py`).

Each word w has an input vector u_w. For the words w_1, ..., w_L of a text and each position t, with a window of b_t
words on both sides, b_t drawn evenly from 1, ..., window_size:

    skip_gram   h = u_{w_t} predicts each w_s, 0 < |s - t| ≤ b_t:    a pair (t, s) for each word in the window
    cbow        h = the mean of u_{w_s}, 0 < |s - t| ≤ b_t, predicts w_t:    one pair for each position

A pair (h, w) costs, with v the vectors of the output layer,

    negative_sampling      -ln σ(h · v_w) - Σ_{i=1}^k ln σ(-h · v_{n_i}),  n_i ~ count^noise_exponent (equation 4)
    hierarchical_softmax   -Σ_j ln σ(±h · v_{n(w,j)}), the choices on the way to w in a Huffman tree    (equation 3)

and the loss is the mean over the pairs of a batch. The slide's tokenizer τ_θ(w) is u_w.

In evaluation mode windows and noise are drawn from a generator of their own with a fixed seed, so that the same batch
always has the same loss.

`<s>`, `</s>`, padding and the unknown word are no words: windows reach over them as if they were not there, and their
vectors stay 0.

Deviations:
- The papers' loss is a sum over the text; here it is the mean over pairs.
- Frequent words are subsampled by the data (`batches/word_windows.py`), as in the authors' program, not by the model.
- CBOW's h is the mean, as in the authors' program (word2vec.c); and each u_{w_s} gets its share of h's gradient, where
  the program, gensim with it, gives the whole of it to each word of the window.
- `forward` is the equations, on autograd. Training by `train_word2vec.py` takes the same gradients block by block
  (`tasks/word_updates.py`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput
from transformers.utils.generic import ModelOutput, can_return_tuple

from hf_lecture_models.base.heads.losses import NOT_COUNTED, class_labels, mean_over_items
from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.base.modeling import LecturePreTrainedModel, model_forward
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.huffman import balanced_tree
from hf_lecture_models.layers.input_codings import word_mask
from hf_lecture_models.layers.inputs import look_up, real_token_mask, token_ids
from hf_lecture_models.layers.word_prediction import HierarchicalSoftmax, NegativeSampling
from hf_lecture_models.models.word2vec.configuration_word2vec import Word2VecConfig


class Word2VecPreTrainedModel(LecturePreTrainedModel):
    """What both models share."""

    config: Word2VecConfig
    config_class = Word2VecConfig
    base_model_prefix = "model"

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.Embedding):
            width = self.config.hidden_size
            init.uniform_(module.weight, -0.5 / width, 0.5 / width)
            for id_ in self.config.special_ids:
                init.zeros_(module.weight[id_])
        elif isinstance(module, NegativeSampling | HierarchicalSoftmax):
            init.zeros_(module.weight)
            init.zeros_(module.token_counts)
        if isinstance(module, HierarchicalSoftmax):
            for buffer, values in zip(
                (module.parents, module.bits), balanced_tree(self.config.vocab_size), strict=True
            ):
                init.copy_(buffer, values)


class Word2VecModel(Word2VecPreTrainedModel):
    """The vector of each word, whatever stands around it.

    `forward` reads ids (batch, seq) and returns `last_hidden_state` (batch, seq, hidden), zeros where `attention_mask`
    (batch, seq) is 0; on request `hidden_states`, which holds this alone.

    >>> model = Word2VecModel(Word2VecConfig(vocab_size=9, hidden_size=4))
    >>> vectors = model(torch.tensor([[3, 1, 3]])).last_hidden_state
    >>> vectors.shape, bool((vectors[0, 0] == vectors[0, 2]).all())
    (torch.Size([1, 3, 4]), True)
    """

    def __init__(self, config: Word2VecConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.post_init()

    @model_forward
    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: bool) -> BaseModelOutput:
        """Look the words up."""
        ids = token_ids(input_ids)
        real = real_token_mask(ids, attention_mask, None)
        vectors = look_up(self.embed_tokens, ids).where(real.unsqueeze(-1), 0.0)
        return BaseModelOutput(vectors, self.shown_states(kwargs.get("output_hidden_states"), vectors))

    @classmethod
    def from_word2vec_format(
        cls,
        path: str | os.PathLike[str],
        binary: bool = True,
        encoding: str = "utf-8",
        errors: str = "strict",
    ) -> tuple[Word2VecModel, Any]:
        """Read a word2vec file; see `hf_lecture_models.models.word2vec.conversion_word2vec.from_word2vec_format`."""
        raise RuntimeError(_NEEDS_THE_PACKAGE.format("from_word2vec_format"))

    def save_word2vec_format(self, path: str | os.PathLike[str], tokenizer: Any, binary: bool = True) -> None:
        """Write a word2vec file; see `hf_lecture_models.models.word2vec.conversion_word2vec.save_word2vec_format`."""
        raise RuntimeError(_NEEDS_THE_PACKAGE.format("save_word2vec_format"))


_NEEDS_THE_PACKAGE = (
    "Word2VecModel.{} needs the package: `pip install hf-lecture-models`, then `import hf_lecture_models`; "
    "this copy of the model was loaded from a repository's own code"
)


@dataclass
class Word2VecForPreTrainingOutput(ModelOutput):
    """What `Word2VecForPreTraining` returns.

    Attributes:
        loss: scalar, nats, the mean over pairs; None without labels.
        last_hidden_state: (batch, seq, hidden), the h of each position.
        num_pairs: how many pairs the loss is a mean over; None without labels.
    """

    loss: Tensor | None = None
    last_hidden_state: Tensor | None = None
    num_pairs: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None


class Word2VecForPreTraining(ModelHead, Word2VecPreTrainedModel):
    """Input and output vectors, and the loss that trains both.

    >>> config = Word2VecConfig(vocab_size=9, hidden_size=4, window_size=1)
    >>> ids = torch.tensor([[3, 1, 4]])
    >>> outputs = Word2VecForPreTraining(config).eval()(ids, labels=ids)
    >>> outputs.num_pairs.item()  # (3, 1), (1, 3), (1, 4), (4, 1)
    4
    """

    base_model_class = Word2VecModel
    accepts_loss_kwargs = False
    """Tells transformers' Trainer to send no `num_items_in_batch`: it would count words, where pairs are the items."""

    def __init__(self, config: Word2VecConfig):
        super().__init__(config)
        self.model = Word2VecModel(config)
        sizes = (config.vocab_size, config.hidden_size)
        self.output: NegativeSampling | HierarchicalSoftmax
        if config.output_layer == "negative_sampling":
            self.output = NegativeSampling(*sizes, config.num_negatives, config.noise_exponent)
        else:
            self.output = HierarchicalSoftmax(*sizes)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Word2VecForPreTrainingOutput:
        """Predict words from their neighbours.

        Args:
            input_ids: (batch, seq), a text in each row.
            attention_mask: (batch, seq), 1 = real token.
            labels: (batch, seq), the words to predict: `input_ids` as a rule; -100 is not counted.
            kwargs: `output_hidden_states`, for the `hidden_states` of the base model.

        Raises:
            ValueError: ids or labels of another shape or type, or that are no words of the vocabulary.
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
        """(batch, seq, seq) bool: which positions stand in the window of each position.

        Args:
            words: (batch, seq) bool, the positions of words; all others are passed over.
            drawn: whether the sizes of windows are drawn; else they are all `window_size`.
        """
        largest = self.config.window_size
        size: Tensor | int = largest
        if drawn:
            size = torch.randint(1, largest + 1, (*words.shape, 1), generator=generator, device=words.device)
        number = words.cumsum(1)
        distance = (number[:, :, None] - number[:, None, :]).abs()
        return (distance > 0) & (distance <= size) & words[:, :, None] & words[:, None, :]

    @property
    def needs_token_counts(self) -> bool:
        """Whether `set_token_counts` should be called before training."""
        return not bool(self.output.token_counts.any())

    def set_token_counts(self, counts: Tensor) -> None:
        """Tell the output layer how often each word occurs in the training text; once, before training.

        Args:
            counts: (vocab_size,), integers of at least 0, not all 0; special tokens, which are no words, count 0.

        Raises:
            ValueError: wrong counts, or the model has some: its output vectors depend on them.
        """
        counts = torch.as_tensor(counts)
        if not self.needs_token_counts:
            raise ValueError("the model has token counts, on which its weights depend; set others on a new model")
        if counts.shape != (self.config.vocab_size,) or counts.is_floating_point() or bool((counts < 0).any()):
            raise ValueError(
                f"token counts of shape {tuple(counts.shape)} and type {counts.dtype}; needed are "
                f"vocab_size={self.config.vocab_size} integers of at least 0"
            )
        counts = counts.clone()
        counts[self.config.special_ids] = 0
        if not bool(counts.any()):
            raise ValueError("all token counts are 0; count the words of the training text")
        self.output.set_token_counts(counts)

    def get_output_embeddings(self) -> Any:
        """The output vectors; None with a hierarchical softmax, where no word has one of its own."""
        return self.output if isinstance(self.output, NegativeSampling) else None

    def resize_token_embeddings(self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any) -> Any:
        """Refused: the output layer is built on the counts of its words."""
        padded = kwargs.get("pad_to_multiple_of", args[0] if args else None) is not None
        if padded or new_num_tokens not in (None, self.config.vocab_size):
            raise ValueError(
                "the vocabulary of a Word2VecForPreTraining cannot be resized: its output layer is built on the counts "
                "of its words; train a new model with vocab_size=len(tokenizer), or resize its input vectors, `.model`"
            )
        return self.get_input_embeddings()
