# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The head of encoder-decoders: the next target token's probability, given the source and the target so far."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.cache_utils import Cache
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput
from transformers.utils.generic import can_return_tuple

from hf_lecture_models.base.fixed_vocabulary import keep_vocabulary
from hf_lecture_models.base.generation import GeneratesTokens
from hf_lecture_models.base.heads.losses import NOT_COUNTED, class_labels, cross_entropy, mean_over_items
from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.io.compat import slice_logits_to_keep
from hf_lecture_models.layers.execution import has_own_loss, is_traced
from hf_lecture_models.layers.few_rows import FewRowsLinear
from hf_lecture_models.layers.linear_cross_entropy import linear_cross_entropy


class Seq2SeqLMHead(GeneratesTokens, ModelHead):
    """P(y_t | source, y_1 ... y_{t-1}) = softmax(lm_head(last hidden state of the decoder at t)).

    A model with this head has `GenerationMixin` as its last base class. With `tie_word_embeddings`, the matrix of
    `lm_head` is that of the target's word vectors; with one vocabulary, these are the source's.

    The base model holds `encoder` and `decoder`, takes the arguments below that are not the head's own (`labels`,
    `num_items_in_batch`, `logits_to_keep`), and returns a `Seq2SeqModelOutput`. `generate()` runs its encoder once, and
    gives the result as `encoder_outputs`. The configuration has `is_encoder_decoder=True`.

    Arguments of `forward`, beside those of the base model, to which it hands them on:

        decoder_input_ids: (batch, target), what the decoder reads; `labels` moved one step to the right, unless given.
        labels: (batch, target), the ids to predict, -100 where none is. Unlike a causal language model's they are not
            shifted: position t reads `decoder_input_ids[:, t]` and predicts `labels[:, t]`.
        num_items_in_batch: keyword; divides the summed loss. Without it, the number of labels does.
        logits_to_keep: the last so many target positions, or a tensor of positions, to compute logits for; 0 for all.
            The loss always counts all labels; if not all logits are kept, it is computed in pieces, and the logits of
            all positions never exist at once.

    It returns `loss` (scalar, nats, float32 or wider; None without labels), `logits` (batch, positions kept, target
    vocabulary), and what the base model returns. With labels no cache is built, unless `use_cache` asks for one.
    """

    loss_without_logits = True
    """The loss does not need the logits; keeping 1 of them makes training faster and smaller."""
    config: Any
    lm_head: Any

    def add_layers(self, config: Any) -> None:
        """Build `lm_head`."""
        self.lm_head = FewRowsLinear(config.output_size, self.target_vocab_size)
        words = "encoder" if getattr(config, "decoder_vocab_size", None) is None else "decoder"
        self._tied_weights_keys = {"lm_head.weight": f"model.{words}.embed_tokens.weight"}

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput:
        """Predict the next target token at each position; arguments and outputs are those of the class's docstring."""
        items = kwargs.pop("num_items_in_batch", None)
        if decoder_input_ids is None and decoder_inputs_embeds is None:
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        outputs = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            encoder_outputs=encoder_outputs,
            past_key_values=past_key_values,
            inputs_embeds=inputs_embeds,
            decoder_inputs_embeds=decoder_inputs_embeds,
            use_cache=False if use_cache is None and labels is not None else use_cache,
            return_dict=True,
            **kwargs,
        )
        hidden = outputs.last_hidden_state
        logits = self.lm_head(slice_logits_to_keep(hidden, logits_to_keep))
        all_kept = isinstance(logits_to_keep, int) and logits_to_keep == 0
        loss = None if labels is None else self._loss(hidden, logits if all_kept else None, labels, items)
        # All else that the base model returned has the same name here.
        rest = {name: value for name, value in outputs.items() if name != "last_hidden_state"}
        return Seq2SeqLMOutput(loss=loss, logits=logits, **rest)

    def _loss(self, hidden: Tensor, logits: Tensor | None, labels: Tensor, items: Tensor | int | None) -> Tensor:
        if logits is not None and not has_own_loss(self.lm_head):
            return cross_entropy(logits, labels, items)
        targets = class_labels(labels, hidden.shape[:2], self.target_vocab_size).flatten().to(hidden.device)
        total = linear_cross_entropy(hidden.flatten(0, 1), self.lm_head, targets)
        return mean_over_items(total, (targets != NOT_COUNTED).sum(), items)

    @property
    def target_vocab_size(self) -> int:
        """Number of target tokens; source and target may share one vocabulary."""
        return getattr(self.config, "decoder_vocab_size", None) or self.config.vocab_size

    def resize_token_embeddings(self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any) -> Any:
        """Resize the vocabulary that source and target share.

        Raises:
            ValueError: source and target have two vocabularies, and another size than the source's is asked for.
        """
        if getattr(self.config, "decoder_vocab_size", None) is None:
            return super().resize_token_embeddings(new_num_tokens, *args, **kwargs)  # type: ignore[misc]
        reason = (
            f"{type(self).__name__} cannot be resized: it has two vocabularies, and resize_token_embeddings names "
            "none; build a model with other vocab_size and decoder_vocab_size, and copy the weights"
        )
        return keep_vocabulary(self, reason, new_num_tokens, *args, **kwargs)

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor | None) -> Tensor:
        """Return the decoder's input that predicts `labels` (batch, target): the start token, then all but the last.

        transformers' `DataCollatorForSeq2Seq(tokenizer, model=model)` calls it. See `shift_right`.
        """
        if labels is None:
            raise ValueError(
                f"{type(self).__name__} reads a source and a target: give labels, or decoder_input_ids, beginning with "
                "decoder_start_token_id; generate() makes a target of its own"
            )
        missing = [name for name in ("decoder_start_token_id", "pad_token_id") if getattr(self.config, name) is None]
        if missing:
            raise ValueError(
                f"the configuration has no {' and no '.join(missing)}, so labels cannot become decoder_input_ids: set "
                f"model.config.{missing[0]}, or give decoder_input_ids"
            )
        return shift_right(labels, self.config.decoder_start_token_id, self.config.pad_token_id)

    def _prepare_text_encoder_decoder_kwargs_for_generation(
        self, inputs_tensor: Tensor, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        # Seq2SeqTrainer gives generate() the labels too, and an assistant has few logits kept; transformers would give
        # both to the encoder.
        model_kwargs.pop("labels", None)
        of_encoder = {name: value for name, value in model_kwargs.items() if name != "logits_to_keep"}
        return model_kwargs | super()._prepare_text_encoder_decoder_kwargs_for_generation(  # type: ignore[misc]
            inputs_tensor, of_encoder, *args, **kwargs
        )

    def compute_transition_scores(self, *args: Any, **kwargs: Any) -> Tensor:
        """Compute the scores with the size of the target's vocabulary, where transformers takes the source's."""
        target = SimpleNamespace(vocab_size=self.target_vocab_size)
        of_target: Any = SimpleNamespace(config=SimpleNamespace(get_text_config=lambda: target))
        return GenerationMixin.compute_transition_scores(of_target, *args, **kwargs)


class ImageSeq2SeqLMHead(Seq2SeqLMHead):
    """P(y_t | image, y_1 ... y_{t-1}): the head of encoder-decoders whose source is an image.

    Its `forward` takes `pixel_values` (batch, channels, height, width) in place of `input_ids` and `attention_mask`,
    for all patches are real. There is one vocabulary, the target's, and `lm_head` has no bias.
    """

    def add_layers(self, config: Any) -> None:
        """Build `lm_head`, whose matrix is that of the target's word vectors with `tie_word_embeddings`."""
        self.lm_head = FewRowsLinear(config.output_size, config.vocab_size, bias=False)
        self._tied_weights_keys = {"lm_head.weight": "model.decoder.embed_tokens.weight"}

    def forward(
        self,
        pixel_values: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        past_key_values: Cache | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput:
        """Predict the next target token at each position; arguments and outputs are those of the class's docstring."""
        return super().forward(
            pixel_values=pixel_values,
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            encoder_outputs=encoder_outputs,
            past_key_values=past_key_values,
            decoder_inputs_embeds=decoder_inputs_embeds,
            labels=labels,
            use_cache=use_cache,
            logits_to_keep=logits_to_keep,
            **kwargs,
        )


def shift_right(labels: Tensor, start_token_id: int, pad_token_id: int) -> Tensor:
    """`start_token_id`, then each row of `labels` (batch, target) but its last, with padding in the place of -100.

    >>> shift_right(torch.tensor([[5, 6, 2], [7, 2, -100]]), start_token_id=1, pad_token_id=0)
    tensor([[1, 5, 6],
            [1, 7, 2]])

    Raises:
        ValueError: labels that are not integers, or of another shape; on the CPU, rows that are padded on the left,
            where the start token would come before the padding.
    """
    shape = tuple(labels.shape) if isinstance(labels, Tensor) else type(labels).__name__
    if not isinstance(labels, Tensor) or labels.dim() != 2 or labels.is_floating_point() or labels.dtype == torch.bool:
        raise ValueError(f"labels must be integers of shape (batch, target), not {shape}")
    labels = labels.long()
    if labels.device.type == "cpu" and not is_traced():
        padded_left = (labels[:, :1] == NOT_COUNTED) & (labels != NOT_COUNTED).any(1, keepdim=True)
        if bool(padded_left.any()):
            raise ValueError(
                "labels begin with -100: pad targets on the right (tokenizer.padding_side = 'right'), or give "
                "decoder_input_ids and decoder_attention_mask"
            )
    before = F.pad(labels[:, :-1], (1, 0), value=start_token_id)
    return before.masked_fill(before == NOT_COUNTED, pad_token_id)
