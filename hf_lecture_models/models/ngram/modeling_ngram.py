# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The n-gram language model (Markov 1913, Shannon 1948), with its smoothings.

Slides Y:88-225 (equations 1-3, the art of smoothing). With h the n-1 words before w, and h' = h without its first word:

    P(w_1 ... w_L) = prod_i P(w_i | w_{i-n+1} ... w_{i-1})                               (2)
    P_ML(w | h) = c(hw) / sum_w' c(hw')                                                  (3)
    P_+a(w | h) = (c(hw) + a) / (a |V| + c(h))                                           Laplace: a = 1

Most others (S. F. Chen and J. Goodman, An Empirical Study of Smoothing Techniques for Language Modeling, 1999; R.
Kneser and H. Ney, Improved Backing-off for M-gram Language Modeling, 1995) interpolate, with u and gamma from
`smoothing/interpolated.py`; Good-Turing and Katz back off (`smoothing/back_off.py`), Witten-Bell does either:

    P(w | h) = u(hw) + gamma(h) P(w | h'),    P(w | no context) = u(w) + gamma / |V|

All are stored as S. Katz's back-off (1987), the form of ARPA files: p*(hw) = P(w | h) for each stored hw, and bow(h) =
gamma(h) for each stored h (1 if h is not stored),

    P(w | h) = p*(hw)  if hw is stored,  else  bow(h) P(w | h')

so there is one look-up, in the sorted tables of `NGramTrie`. Stupid back-off has one weight for all h, stored or not;
its scores do not sum to one, so it can only rank. In a class-based model (P. F. Brown et al., Class-Based n-gram Models
of Natural Language, 1992) the tables are over classes: P(w | h) = P(w | c) P(c | c_h).

Deviations:
    - Slide (1) leaves the end of a text out; here `</s>` is an event, so the probabilities of all texts sum to 1.
    - Slide Y:115 draws w_1 uniformly; here it is drawn from P(. | `<s>`).
    - The sum in (3) is over all events: the vocabulary without `<s>` and `<pad>`; |V| is their number.
    - Distributions of tables of 8 or 16 bits (`quantise`) do not sum to one, and are not normalised again. A
      probability over 1 becomes 1.
    - A model that KenLM stored as hashes (`HashedNGrams`) takes two n-grams of the same 64-bit hash for one.
    - `smoothing/interpolated.py` and `smoothing/back_off.py` list those of single smoothings.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import CausalLMOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.generation import PredictsNextToken, next_token_labels
from hf_lecture_models.base.heads.losses import NOT_COUNTED, mean_over_items
from hf_lecture_models.io.compat import slice_logits_to_keep
from hf_lecture_models.layers.execution import is_traced
from hf_lecture_models.layers.inputs import check_token_ids, real_token_mask, token_ids
from hf_lecture_models.layers.ngram_classes import ClassNGramTrie
from hf_lecture_models.layers.ngram_hashed import HashedNGrams
from hf_lecture_models.layers.ngram_mixture import NGramMixture
from hf_lecture_models.layers.ngram_search import where_true
from hf_lecture_models.layers.ngram_trie import NGramTrie
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.pretrained_ngram import NGramPreTrainedModel

# The sums of quantised distributions may be far from one (`docs/ngram_files.md`), and so may a single probability.
LARGEST_LOG_PROB = math.log(2)

_NO_DISTRIBUTION = (
    "stupid back-off gives scores that do not sum to one, so there are no logits, loss, perplexity or generated text; "
    "rank sentences by model.score() or the sentence-ranking pipeline, or fit with another smoothing"
)
_NOT_RECORDED = (
    "torch.jit.trace cannot record an n-gram model: how many tables it looks a word up in depends on the text; save it "
    "with save_pretrained, or as ARPA with `hf-lecture convert MODEL model.arpa`"
)


class NGramForCausalLM(PredictsNextToken, NGramPreTrainedModel, GenerationMixin):  # type: ignore[misc]
    """An n-gram language model. `NGramForCausalLM.fit` estimates one; a new one is uniform over the events.

    >>> model = NGramForCausalLM(NGramConfig(vocab_size=4, order=2))  # not estimated yet: every word is as probable
    >>> model(torch.tensor([[0, 1]])).logits[0, -1].exp()
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def __init__(self, config: NGramConfig) -> None:
        super().__init__(config)
        if getattr(config, "gradient_checkpointing", False):
            self.check_recomputes()
        self.loss_type: Any = None  # else transformers' Trainer takes it from the name of the class
        self.trie = new_trie(config)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs: Any,
    ) -> CausalLMOutput:
        """Return the distribution of the next token at each position.

        Args:
            input_ids: (batch, seq).
            attention_mask: (batch, seq), 1 = real token; others are skipped, wherever they are.
            labels: (batch, seq); the loss is the mean of -ln p(`labels[:, t + 1]` | `input_ids[:, :t + 1]`) over labels
                other than -100 (their sum over `num_items_in_batch`, where that is given).
            logits_to_keep: number of last positions, or a tensor of positions, to compute logits for; 0 for all.

        Returns:
            `loss` (None without labels), and `logits` (batch, kept, vocab): natural log-probabilities.

        Raises:
            ValueError: ids or labels are outside the vocabulary, or of another type or shape; or the smoothing is
                stupid back-off, whose scores do not sum to one; or torch.jit.trace records the call.
        """
        if torch.jit.is_tracing():
            raise ValueError(_NOT_RECORDED)
        if not self.config.is_distribution:
            raise ValueError(_NO_DISTRIBUTION)
        kwargs = self.loss_arguments(kwargs)
        input_ids = token_ids(input_ids)
        # The key of an n-gram with a word outside the vocabulary would be that of another n-gram.
        check_token_ids(input_ids, self.config.vocab_size)
        real = real_token_mask(input_ids, attention_mask, None)
        # The last entry is "no context": index -1 finds it.
        starts = _row_starts(where_true(real.flatten()), real)
        contexts = F.pad(self.trie.contexts(input_ids[real], starts), (0, 1), value=-1)
        # (batch, seq): index, among the real tokens of the batch, of the last one up to each position.
        states = (real.flatten().cumsum(0).view_as(real) - 1).masked_fill(real.cumsum(1) == 0, -1)
        loss = self._loss(contexts, states, labels, **kwargs) if labels is not None or kwargs else None
        kept = slice_logits_to_keep(states[..., None], logits_to_keep)[..., 0]
        rows = _at_most_one(self.trie.distributions(contexts[:, kept.flatten()]))
        return CausalLMOutput(loss=loss, logits=rows.view(*kept.shape, rows.shape[-1]))

    def _loss(
        self,
        contexts: Tensor,
        states: Tensor,
        labels: Tensor | None,
        num_items_in_batch: Tensor | int | None = None,
        shift_labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Tensor | None:
        targets = next_token_labels(labels, shift_labels, states.shape, self.config.vocab_size)
        if targets is None:
            return None
        # After padding on the left, the first real token has no context; in a row without padding it is not a target.
        counted = (targets != NOT_COUNTED) & (states >= 0)
        log_probs = _at_most_one(self.trie.log_probs(contexts[:, states[counted]], targets[counted]))
        return mean_over_items(-log_probs.sum(), counted.sum(), num_items_in_batch)

    @torch.no_grad()
    def score(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Return ln p(`input_ids[:, t]` | before), (batch, seq) float32, without a row over the vocabulary.

        It is 0 at the first real token of each row, at every `<s>` and at padding, and -inf where the probability is 0.
        Without an `attention_mask`, all tokens but `pad_token_id` are real. Stupid back-off gives ln S instead, which
        compares sentences but is not a logarithm of a probability.
        """
        config, input_ids = self.config, token_ids(input_ids)
        check_token_ids(input_ids, config.vocab_size)
        real = real_token_mask(input_ids, attention_mask, config.pad_token_id)
        at = where_true(real.flatten())
        words, starts = input_ids.flatten().index_select(0, at), _row_starts(at, real)
        scores = torch.zeros(input_ids.numel(), dtype=torch.float32, device=input_ids.device)
        return scores.index_copy_(0, at, self.score_rows(words, starts)).view_as(input_ids)

    @torch.no_grad()
    def score_rows(self, words: Tensor, starts: Tensor) -> Tensor:
        """Return what `score` returns for rows that follow each other without padding, (tokens,) float32."""
        config = self.config
        log_probs, lengths = self.trie.score(words, starts, not config.is_distribution)
        if lengths is not None:
            places = torch.arange(len(words), device=words.device)
            longest = (places - places.masked_fill(~starts, 0).cummax(0).values + 1).clamp(max=config.order)
            log_probs += math.log(config.backoff_factor) * (longest - lengths)
        log_probs = _at_most_one(log_probs)
        if config.bos_token_id not in (None, config.eos_token_id):  # one token that also ends texts has a probability
            starts = starts | (words == config.bos_token_id)
        return log_probs.masked_fill_(starts, 0.0)


def _row_starts(at: Tensor, real: Tensor) -> Tensor:
    """Return which of the real tokens, in the order of `at`, are the first of their rows, (real tokens,) bool."""
    rows = torch.arange(len(real), device=at.device) * real.shape[1]
    first = torch.searchsorted(at, rows)
    starts = torch.zeros(len(at) + 1, dtype=torch.bool, device=at.device)  # one more, for rows without tokens
    return starts.index_fill_(0, first, True)[:-1]


def _at_most_one(log_probs: Tensor) -> Tensor:
    """Return the logarithms of probabilities, those clipped at 0 that rounding or quantised weights make larger.

    Raises:
        ValueError: a probability is far over 1, so the back-off weights are damaged. Not while tracing.
    """
    if is_traced() or log_probs.numel() == 0 or log_probs.is_meta:
        return log_probs
    largest = float(log_probs.max())
    if not largest <= LARGEST_LOG_PROB:
        raise ValueError(
            f"a probability is {math.exp(min(largest, 99)):.3g}, and more than 1: the back-off weights of the tables "
            "are damaged; load the model's file again, or estimate it again"
        )
    return log_probs.clamp_(max=0) if largest > 0 else log_probs


def new_trie(config: NGramConfig) -> Any:
    """Return the look-up that a configuration describes: of words, classes or hashes, or a mixture of models."""
    if config.mixture_weights is not None:
        return NGramMixture([new_trie(one) for one in config.component_configs], config.mixture_weights)
    if config.num_classes is not None:
        sizes = config.num_classes, config.sizes
        return ClassNGramTrie(config.vocab_size, *sizes, config.non_events, config.quantisation_bits)
    trie_class = HashedNGrams if config.hashed else NGramTrie
    return trie_class(config.vocab_size, config.sizes, config.non_events, config.quantisation_bits)
