# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Tasks on ELMo's vectors of words in context: texts to classes, words to tags, questions to answers.

The paper's section 3.2 and slides R:723-731. With ELMo's layers h→_k, h←_k and a word's vector x_l of the task's own,

    x̃_l = [x_l; γ Σ_k s_k h→_{k,l}; γ Σ_k s_k h←_{k,l}],  s = softmax(w)
    z_1, ..., z_L = biLSTM(x̃_1, ..., x̃_L)
    P(tag of w_l | text) = softmax(W z_l + b);  P(class | text) = softmax(W max_l z_l + b), the maximum by coordinate

and the ends of an answer are two tags, for which the softmax is over l. With `hash_rows` x_l also holds the vectors of
hashed features of the word's spelling (`layers/hashed_words.py`), which say more than its characters where a tagger has
few sentences to learn from. With `num_hidden_layers=0` x̃_l = [x_l; γ h_0; γ h_0]: the language models are left
out, and only the LSTM of the head reads the context.

Deviations: those of `modeling_elmo.py`. The paper has no hashed features, and always its language models.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from hf_lecture_models.base.heads.classification import SequenceClassificationHead, TokenClassificationHead
from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.base.heads.question_answering import QuestionAnsweringHead
from hf_lecture_models.layers.character_cnn import CharacterCnn
from hf_lecture_models.layers.hashed_words import HashedWords
from hf_lecture_models.layers.inputs import padding_mask
from hf_lecture_models.layers.layer_mix import SoftmaxLayerMix
from hf_lecture_models.layers.recurrent_layer import BidirectionalLayer, RecurrentLayer
from hf_lecture_models.layers.text_vectors import max_state, real_tokens
from hf_lecture_models.models.elmo.configuration_elmo import ElmoConfig
from hf_lecture_models.models.elmo.modeling_elmo import ElmoModel
from hf_lecture_models.models.elmo.pretrained_elmo import ElmoPreTrainedModel

# x is made of characters' vectors of this size, by filters over this many of them.
_CHARACTER_SIZE, _FILTER_WIDTH = 16, 3


class ElmoTaskReader(nn.Module):
    """z: x̃, read by a bidirectional LSTM of the task's own."""

    def __init__(self, config: ElmoConfig):
        super().__init__()
        filters = [(min(_FILTER_WIDTH, config.max_characters_per_token), config.word_vector_size)]
        self.characters = CharacterCnn(config.vocab_size, _CHARACTER_SIZE, filters)
        self.mix = SoftmaxLayerMix(config.num_hidden_layers + 1)
        self.dropout = nn.Dropout(config.task_dropout)
        self.features = None if config.hash_rows is None else HashedWords(config.hash_rows, config.word_vector_size)
        features_size = 0 if self.features is None else self.features.output_size
        sizes = config.word_vector_size + features_size + config.output_size, config.task_hidden_size
        forwards, backwards = (RecurrentLayer(nn.LSTM(*sizes, batch_first=True)) for _ in range(2))
        self.lstm = BidirectionalLayer(forwards, backwards)

    def forward(self, input_ids: Tensor, layer_states: Tensor, mask: Tensor | None) -> Tensor:
        """(batch, seq, characters) and `ElmoModelOutput.layer_states` to (batch, seq, 2 * task_hidden_size)."""
        elmo = self.mix(layer_states.chunk(len(self.mix.w), -1))
        x = self.characters(input_ids.long())
        if self.features is not None:
            x = torch.cat((x, self.features(input_ids.long())), -1)
        return self.lstm(self.dropout(torch.cat((x, elmo), -1)), None, mask)[0]


class ElmoTaskHead(ModelHead):
    """A head that reads z, the `reader`'s states, instead of the language models' own."""

    base_model_class = ElmoModel
    output_layer: ClassVar[str] = "classifier"
    dropout: nn.Module
    reader: ElmoTaskReader

    def add_layers(self, config: ElmoConfig) -> None:
        """Build the reader of x̃, and W and b."""
        self.reader, self.dropout = ElmoTaskReader(config), nn.Dropout(config.task_dropout)
        outputs = 2 if self.output_layer == "qa_outputs" else config.num_labels
        setattr(self, self.output_layer, nn.Linear(2 * config.task_hidden_size, outputs))

    def base_model_outputs(self, **inputs: Any) -> Any:
        """Return the base model's outputs, with z as `last_hidden_state`."""
        outputs = super().base_model_outputs(**inputs)
        mask = padding_mask(inputs["attention_mask"], outputs.last_hidden_state)
        outputs.last_hidden_state = self.reader(inputs["input_ids"], outputs.layer_states, mask)
        return outputs

    def other_input_embeddings(self) -> list[nn.Module]:
        """Return the reader's vectors of characters."""
        return [self.reader.characters.embed]


class ElmoForSequenceClassification(ElmoTaskHead, SequenceClassificationHead, ElmoPreTrainedModel):
    """Texts, or pairs of them read as one text, to classes.

    >>> shape = {"char_filters": [[2, 5]], "hidden_size": 8, "projection_size": 4, "num_labels": 3}
    >>> ElmoForSequenceClassification(ElmoConfig(**shape))(torch.ones(2, 3, 50, dtype=int)).logits.shape
    torch.Size([2, 3])
    """

    def pool(self, outputs: Any, attention_mask: Tensor | None) -> Tensor:
        """Return max_l z_l."""
        return max_state(outputs.last_hidden_state, real_tokens(attention_mask, outputs.last_hidden_state))


class ElmoForTokenClassification(ElmoTaskHead, TokenClassificationHead, ElmoPreTrainedModel):
    """Words to tags: parts of speech, names.

    >>> shape = {"char_filters": [[2, 5]], "hidden_size": 8, "projection_size": 4, "num_labels": 3}
    >>> ElmoForTokenClassification(ElmoConfig(**shape))(torch.ones(2, 4, 50, dtype=int)).logits.shape
    torch.Size([2, 4, 3])
    """


class ElmoForQuestionAnswering(ElmoTaskHead, QuestionAnsweringHead, ElmoPreTrainedModel):
    """A question and a text, read as one, to the first and the last word of the answer.

    >>> shape = {"char_filters": [[2, 5]], "hidden_size": 8, "projection_size": 4}
    >>> ElmoForQuestionAnswering(ElmoConfig(**shape))(torch.ones(2, 4, 50, dtype=int)).start_logits.shape
    torch.Size([2, 4])
    """

    output_layer = "qa_outputs"
