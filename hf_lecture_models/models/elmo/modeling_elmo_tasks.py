# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What reads ELMo's words in context: a classifier of texts, a tagger, and one that finds answers.

The paper's section 3.2 and slides R:723-731; `modeling_elmo.py` has the formula of x̃.

Deviations, which the list of `modeling_elmo.py` has too:
- From the paper: one small task model in the place of many; no weight decay towards equal s, no layer norm in the mix.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.base.heads.question_answering import QuestionAnsweringHead
from hf_lecture_models.base.heads.sequence_classification import SequenceClassificationHead
from hf_lecture_models.base.heads.token_classification import TokenClassificationHead
from hf_lecture_models.layers.character_cnn import CharacterCnn
from hf_lecture_models.layers.inputs import padding_mask
from hf_lecture_models.layers.layer_mix import SoftmaxLayerMix
from hf_lecture_models.layers.recurrent_layer import BidirectionalLayer, RecurrentLayer
from hf_lecture_models.layers.text_vectors import max_state, real_tokens
from hf_lecture_models.models.elmo.configuration_elmo import ElmoConfig
from hf_lecture_models.models.elmo.modeling_elmo import ElmoModel, ElmoPreTrainedModel

# What the heads make x of: vectors of characters, and filters over three of them.
_CHARACTER_SIZE, _FILTER_WIDTH = 16, 3


class ElmoTaskReader(nn.Module):
    """x̃_l = [x_l; γ Σ s_k h→_{k,l}; γ Σ s_k h←_{k,l}], read by a bidirectional LSTM of the task's own."""

    def __init__(self, config: ElmoConfig):
        super().__init__()
        filters = [(min(_FILTER_WIDTH, config.max_characters_per_token), config.word_vector_size)]
        self.characters = CharacterCnn(config.vocab_size, _CHARACTER_SIZE, filters)
        self.mix = SoftmaxLayerMix(config.num_hidden_layers + 1)
        self.dropout = nn.Dropout(config.task_dropout)
        sizes = config.task_input_size, config.task_hidden_size
        self.lstm = BidirectionalLayer(
            RecurrentLayer(nn.LSTM(*sizes, batch_first=True)), RecurrentLayer(nn.LSTM(*sizes, batch_first=True))
        )

    def forward(self, input_ids: Tensor, layer_states: Tensor, mask: Tensor | None) -> Tensor:
        """(batch, seq, characters) and `ElmoModelOutput.layer_states` to (batch, seq, 2 * task_hidden_size)."""
        elmo = self.mix(layer_states.chunk(len(self.mix.w), -1))
        x = self.characters(input_ids.long())
        return self.lstm(self.dropout(torch.cat((x, elmo), -1)), None, mask)[0]


class ElmoTaskHead(ModelHead):
    """What the heads share: they read a `reader`'s states in the place of the language models' own."""

    config: Any
    dropout: nn.Module
    reader: ElmoTaskReader

    def add_modules(self, output_layer: str, num_outputs: int) -> None:
        """Language models, reader, and `output_layer`, the name of the head's own."""
        self.model, self.reader = ElmoModel(self.config), ElmoTaskReader(self.config)
        self.dropout = nn.Dropout(self.config.task_dropout)
        setattr(self, output_layer, nn.Linear(2 * self.config.task_hidden_size, num_outputs))

    def resize_token_embeddings(
        self, new_num_tokens: int | None = None, pad_to_multiple_of: int | None = None, mean_resizing: bool = True
    ) -> nn.Embedding:
        """Resize the characters of the language models and those of the reader."""
        resize: Any = super().resize_token_embeddings  # type: ignore[misc]
        embeddings, own = resize(new_num_tokens, pad_to_multiple_of, mean_resizing), self.reader.characters.embed
        resized: nn.Embedding = self._get_resized_embeddings(  # type: ignore[attr-defined]
            own, embeddings.num_embeddings, mean_resizing=mean_resizing
        )
        self.reader.characters.embed = resized.requires_grad_(own.weight.requires_grad)
        return embeddings

    def base_model_outputs(self, **inputs: Any) -> Any:
        """As every head's, with the reader's states as `last_hidden_state`."""
        outputs = super().base_model_outputs(**inputs)
        mask = padding_mask(inputs["attention_mask"], outputs.last_hidden_state)
        outputs.last_hidden_state = self.reader(inputs["input_ids"], outputs.layer_states, mask)
        return outputs


class ElmoForSequenceClassification(ElmoTaskHead, SequenceClassificationHead, ElmoPreTrainedModel):
    """Texts, or pairs of them read as one text, to classes.

    >>> shape = {"char_filters": [[2, 5]], "hidden_size": 8, "projection_size": 4, "num_labels": 3}
    >>> ElmoForSequenceClassification(ElmoConfig(**shape))(torch.ones(2, 3, 50, dtype=int)).logits.shape
    torch.Size([2, 3])
    """

    base_model_class = ElmoModel

    def __init__(self, config: ElmoConfig):
        super().__init__(config)
        self.add_modules("classifier", config.num_labels)
        self.post_init()

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        """In each coordinate the largest of the reader's states."""
        return max_state(outputs.last_hidden_state, real_tokens(attention_mask, outputs.last_hidden_state))


class ElmoForTokenClassification(ElmoTaskHead, TokenClassificationHead, ElmoPreTrainedModel):
    """Words to tags: parts of speech, names.

    >>> shape = {"char_filters": [[2, 5]], "hidden_size": 8, "projection_size": 4, "num_labels": 3}
    >>> ElmoForTokenClassification(ElmoConfig(**shape))(torch.ones(2, 4, 50, dtype=int)).logits.shape
    torch.Size([2, 4, 3])
    """

    base_model_class = ElmoModel

    def __init__(self, config: ElmoConfig):
        super().__init__(config)
        self.add_modules("classifier", config.num_labels)
        self.post_init()


class ElmoForQuestionAnswering(ElmoTaskHead, QuestionAnsweringHead, ElmoPreTrainedModel):
    """A question and a text, read as one, to the first and the last word of the answer.

    >>> shape = {"char_filters": [[2, 5]], "hidden_size": 8, "projection_size": 4}
    >>> ElmoForQuestionAnswering(ElmoConfig(**shape))(torch.ones(2, 4, 50, dtype=int)).start_logits.shape
    torch.Size([2, 4])
    """

    base_model_class = ElmoModel

    def __init__(self, config: ElmoConfig):
        super().__init__(config)
        self.add_modules("qa_outputs", 2)
        self.post_init()
