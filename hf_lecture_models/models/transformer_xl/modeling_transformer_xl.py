# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Transformer-XL: a causal Transformer that attends to a memory of the states of earlier segments.

Dai, Yang, Yang, Carbonell, Le & Salakhutdinov, "Transformer-XL: attentive language models beyond a fixed-length
context", ACL 2019, section 3; slide Y:648 ("very long range context-dependency beyond syntax"). A text is read in
segments. With the word vectors w_i, N blocks, the states h^n_i of a segment and M earlier ones in the memory m:

    h^0_i = √d P_c E_c[w_i]                                              layers/adaptive_embedding.py; c: w_i's cluster
    h~^{n-1} = [m^{n-1}; h^{n-1}]                                        section 3.2; no gradient flows into m
    q_i = W_q h^{n-1}_i,  k_j = W_k h~^{n-1}_j,  v_j = W_v h~^{n-1}_j,  r_p = W_r R_p
    score[i, j] = ((q_i + u) · k_j + (q_i + v) · r_{i-j}) / √head_dim    section 3.3; j ≤ i, of each head
    n_i = LN(h^{n-1}_i + W_o Σ_j softmax_j(score[i, j]) v_j)
    h^n_i = LN(n_i + W_2 ReLU(W_1 n_i + b_1) + b_2)
    P(w_{i+1} | all before) = adaptive softmax of h^N_i (layers/projected_softmax.py)

    R_p = [sin(p ω_0), ..., sin(p ω_{d/2-1}), cos(p ω_0), ..., cos(p ω_{d/2-1})],  ω_k = 10000^(-2k/d)
    m^n of the next segment = the last M of h~^n, for n = 0 ... N - 1

With `clamp_len` larger distances p have the R_p of that one. Dropout acts on h^0, on R, on what Attention and FFN add,
after the ReLU, and on h^N.

A state of layer n depends on M more tokens than those of layer n - 1: N layers read N · M tokens back, at the cost of
M. Nothing is computed twice, unlike in a window that moves on.

Deviations:
- The memory keeps no states of padding: it holds the last M real ones of each row, and a mask where there are fewer.
- `memory_start`: the paper's PyTorch code starts from an empty memory, as we do by default. Its TensorFlow code and
  the published weights start from M vectors of zeros, which get attention: their scores v · r_{i-j} are not zero.
- With `same_length` a token attends to M tokens, itself included, as in the published models (in evaluation).
- The published weights were drawn with other standard deviations for different parts; here all have one.
- Each step of `generate()` computes keys and values of the memory again, as the paper's code does.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.generation import GenerationMixin
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast

from hf_lecture_models.base.attention_models import AttentionPreTrainedModel
from hf_lecture_models.base.fixed_vocabulary import keep_vocabulary
from hf_lecture_models.base.heads.causal_lm import CausalLMHead
from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.adaptive_embedding import AdaptiveEmbedding, WordProjection
from hf_lecture_models.layers.attention import AttentionKernel
from hf_lecture_models.layers.causal_attention import causal_attention
from hf_lecture_models.layers.inputs import input_vectors, padding_mask
from hf_lecture_models.layers.position_wise import PositionWise
from hf_lecture_models.layers.projected_softmax import ProjectedSoftmax
from hf_lecture_models.layers.recurrent_cache import RecurrentCache, carried_states, seen_tokens
from hf_lecture_models.layers.relative_attention import Distances, RelativeSelfAttention, ScoreBiases
from hf_lecture_models.layers.segment_memory import SegmentMemory
from hf_lecture_models.layers.sinusoids import sinusoids
from hf_lecture_models.layers.word_scores import WordScores
from hf_lecture_models.models.transformer_xl.configuration_transformer_xl import TransfoXLConfig


class TransfoXLBlock(GradientCheckpointingLayer):
    """n = LN(h + Attention([m; h])); h' = LN(n + FFN(n))."""

    def __init__(self, config: TransfoXLConfig):
        super().__init__()
        width, eps, dropout = config.hidden_size, config.layer_norm_eps, nn.Dropout(config.dropout)
        self.self_attn = RelativeSelfAttention(width, **config.heads, dropout=config.attention_dropout)
        self.attention_norm = nn.LayerNorm(width, eps)
        self.ffn = PositionWise(width, config.intermediate_size or 4 * width, nn.Sequential(nn.ReLU(), dropout))
        self.ffn_norm = nn.LayerNorm(width, eps)
        self.dropout = dropout

    def forward(
        self,
        hidden: Tensor,
        memory: Tensor | None,
        u: Tensor,
        v: Tensor,
        distances: Distances,
        attention: AttentionKernel,
    ) -> Tensor:
        """The next state, (batch, seq, hidden)."""
        attended, _ = self.self_attn(hidden, memory, u, v, distances, attention)
        n = self.attention_norm(hidden + self.dropout(attended))
        return self.ffn_norm(n + self.dropout(self.ffn(n)))


class TransfoXLPreTrainedModel(AttentionPreTrainedModel):
    """The base of all Transformer-XL models."""

    config: TransfoXLConfig
    _is_stateful = True
    _can_record_outputs = {"hidden_states": GradientCheckpointingLayer, "attentions": RelativeSelfAttention}
    # The distances' frequencies, which are computed; copies of the one u and v that all layers share.
    _keys_to_ignore_on_load_unexpected = [r"pos_emb\.inv_freq$", r"r_[rw]_bias$", r"score_biases\.\d+\."]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, ScoreBiases | WordProjection | WordScores):
            for name, parameter in module.named_parameters():
                if name == "bias":
                    init.zeros_(parameter)
                else:
                    init.normal_(parameter, std=self.config.initializer_range)

    def resize_token_embeddings(self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any) -> Any:
        """Keep the vocabulary, whose words are ranked by frequency; another size is a ValueError."""
        reason = (
            "a Transformer-XL cannot be resized: the ids of its words are their ranks by frequency; train a new model "
            "with vocab_size=len(tokenizer)"
        )
        return keep_vocabulary(self, reason, new_num_tokens, *args, **kwargs)


class TransfoXLModel(TransfoXLPreTrainedModel):
    """Word vectors, a stack of blocks that attend to their memories, and the memories after the text.

    `forward` reads sequences of ids (batch, seq), or of `inputs_embeds` (batch, seq, hidden_size), as one segment. In
    `attention_mask` (batch, seq) 1 is a real token; a mask that also covers the tokens of earlier calls is cut to this
    call's. `past_key_values` is the memory of the segment before and is not changed; with `use_cache` the memory after
    the segment is returned as a new `RecurrentCache`, of each layer its states (batch, mem_len, hidden_size) and which
    of them are real (batch, mem_len).

    It returns `last_hidden_state` (batch, seq, hidden_size), `past_key_values`, and on request `hidden_states` (the
    input of the first block, each block's output) and `attentions` (batch, heads, seq, memory + seq) of each block.

    >>> model = TransfoXLModel(TransfoXLConfig(vocab_size=9, hidden_size=4, num_attention_heads=2, mem_len=3)).eval()
    >>> first = model(torch.tensor([[3, 1, 4]]))
    >>> second = model(torch.tensor([[1, 5]]), past_key_values=first.past_key_values)
    >>> second.last_hidden_state.shape, second.past_key_values.get_seq_length()
    (torch.Size([1, 2, 4]), 5)
    """

    def __init__(self, config: TransfoXLConfig):
        super().__init__(config)
        self.embed_tokens = AdaptiveEmbedding(**config.word_vectors)
        pairs = config.num_hidden_layers if config.untie_r else 1
        self.score_biases = nn.ModuleList(ScoreBiases(**config.heads) for _ in range(pairs))
        self.layers = nn.ModuleList(TransfoXLBlock(config) for _ in range(config.num_hidden_layers))
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    def state_shapes(self, batch: int) -> list[list[tuple[int, ...]]]:
        """Return, for each layer, the shapes of its memory and of the mask of its real states."""
        size = self.config.mem_len
        return [[(batch, size, self.config.hidden_size), (batch, size)]] * self.config.num_hidden_layers

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: RecurrentCache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPast:
        """Read a segment."""
        words = input_vectors(self.embed_tokens, input_ids, inputs_embeds)
        memories, before = self.memories(past_key_values, words)
        mask = None if attention_mask is None else padding_mask(attention_mask, words, seen_tokens(past_key_values))
        segment = SegmentMemory(self.config.mem_len, words, mask, before)
        biases = [biases() for biases in self.score_biases]
        # Each layer has scores of its own by position; the function that computes attention must be one that adds them.
        name, options = self.attention_choice(kwargs)
        allowed = segment.allowed(self.config.mem_len if self.config.same_length else None)
        attention = causal_attention(name, words, biases[0][1][None, :, None], allowed, **options)
        distances = self.distances(segment)
        hidden, after = self.dropout(words), []
        for number, (layer, memory) in enumerate(zip(self.layers, memories, strict=True)):
            if use_cache:
                after.append((segment.after(memory, hidden), segment.real_after))
            u, v = biases[number if self.config.untie_r else 0]
            hidden = layer(hidden, memory, u, v, distances, attention)
        cache = RecurrentCache.after(past_key_values, after, words.shape[1]) if use_cache else None
        return BaseModelOutputWithPast(self.dropout(hidden), cache)

    def memories(self, cache: RecurrentCache | None, words: Tensor) -> tuple[list[Tensor | None], Tensor | None]:
        """Return m of each layer, (batch, mem_len, hidden), and which are real, (batch, mem_len); or None."""
        states = carried_states(cache, self.state_shapes(words.shape[0]))
        if states[0] is not None:
            return [state[0] for state in states if state is not None], states[0][1]
        if self.config.memory_start == "empty":
            return [None] * len(states), None
        zeros = words.new_zeros(words.shape[0], self.config.mem_len, self.config.hidden_size)
        return [zeros] * len(states), zeros.new_ones(zeros.shape[:2], dtype=torch.bool)

    def distances(self, segment: SegmentMemory) -> Distances:
        """Return R_p of all distances, and each key's distance from each query."""
        wide = torch.promote_types(segment.hidden.dtype, torch.float32)
        places = torch.arange(segment.keys, dtype=wide, device=segment.hidden.device)
        if self.config.clamp_len is not None:
            places = places.clamp(max=self.config.clamp_len)
        vectors = torch.cat(sinusoids(places, self.config.hidden_size), -1).to(segment.hidden.dtype)
        return Distances(self.dropout(vectors), segment.distances.clamp(min=0))


class TransfoXLLMHeadModel(CausalLMHead, TransfoXLPreTrainedModel, GenerationMixin):
    """The language model: the next token's probability from the segment so far and the memory.

    The `logits` are log-probabilities.

    >>> config = TransfoXLConfig(vocab_size=9, hidden_size=4, num_attention_heads=2, cutoffs=[3, 5], div_val=2)
    >>> logits = TransfoXLLMHeadModel(config)(torch.tensor([[3, 1, 4]])).logits
    >>> logits.exp().sum(-1).allclose(torch.ones(1, 3))
    True
    """

    base_model_class = TransfoXLModel

    @property
    def no_output_matrix(self) -> str | None:
        """Why the loss is not that of softmax(W h + b) of the last hidden state h, and what to do; None if it is."""
        reason = (
            f"cutoffs={self.config.cutoffs} make several; train it with transformers' Trainer or hf-lecture train, or "
            "train a model with cutoffs=[]"
        )
        return reason if self.config.cutoffs else None

    def add_layers(self, config: TransfoXLConfig) -> None:
        """Build the adaptive softmax, which shares matrices with the word vectors."""
        self.lm_head = ProjectedSoftmax(**config.word_vectors)
        vectors, projections = self.model.embed_tokens.vectors, self.model.embed_tokens.projections
        tied = {f"words.{number}": f"vectors.{number}" for number in range(len(vectors))}
        for number in range(len(self.lm_head.projections)):
            if (config.tie_projs or [])[number]:
                tied[f"projections.{number}"] = f"projections.{min(number, len(projections) - 1)}"
        self._tied_weights_keys = {
            f"lm_head.{output}.weight": f"model.embed_tokens.{vector}.weight" for output, vector in tied.items()
        }
