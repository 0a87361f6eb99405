#!/usr/bin/env bash
# transformers 5.23: the pipeline "token-classification" splits entities that a model marks in the scheme BIOES.
#
# What one would guess: with `aggregation_strategy="simple"` (or "first", "max", "average") the pipeline returns whole entities
# for the usual schemes of tags; one that it does not know would be an error, or its tags would be returned as they are.
#
# What is true: only `B-` and `I-` are known. Any other tag is read as the inside of a kind of its own, `E-LOC`, and the name of
# that kind is then cut at the hyphen. So `B-LOC E-LOC` comes out as two entities LOC, New and York, and `S-PER S-PER`, two
# persons, as one. The results look as if the scheme was known; nothing is said. This holds for all strategies but "none".
#
# Where it is from: transformers/pipelines/token_classification.py, `get_tag`, `group_entities` and `group_sub_entities`.
# Models in BIOES (S, E) or BILOU (U, L), which spaCy, Flair and many older taggers use, are better trained with B- and I-.
#
# It needs Python 3.11 or later, and downloads transformers and torch's CPU build into a temporary folder. The model is a tiny
# one whose answers are set by a table, as a trained one would give them.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.23.0

cat >"$folder/try.py" <<'PYTHON'
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertForTokenClassification, PreTrainedTokenizerFast, TokenClassificationPipeline
from transformers.modeling_outputs import TokenClassifierOutput

TAGS = ["O", "B-LOC", "E-LOC", "S-PER"]
TAG_OF_WORD = {"[UNK]": "O", "Ada": "S-PER", "Alan": "S-PER", "New": "B-LOC", "York": "E-LOC", "in": "O"}
words = list(TAG_OF_WORD)


class ByTable(BertForTokenClassification):
    def forward(self, input_ids=None, **kwargs):
        answers = [[TAGS.index(TAG_OF_WORD[words[token]]) for token in row] for row in input_ids.tolist()]
        return TokenClassifierOutput(logits=9.0 * torch.nn.functional.one_hot(torch.tensor(answers), len(TAGS)))


backend = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
backend.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[UNK]")
sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
model = ByTable(BertConfig(vocab_size=len(words), id2label=dict(enumerate(TAGS)), **sizes))
for strategy in ("simple", "first", "max", "average"):
    find = TokenClassificationPipeline(model=model, tokenizer=tokenizer, aggregation_strategy=strategy)
    print(strategy, *(f"{one['entity_group']}:{one['word']}" for one in find("Ada Alan in New York")), sep="  ")
PYTHON

seen="$("$folder/venv/bin/python" "$folder/try.py" 2>/dev/null)"
expected="simple  PER:Ada Alan  LOC:New  LOC:York
first  PER:Ada Alan  LOC:New  LOC:York
max  PER:Ada Alan  LOC:New  LOC:York
average  PER:Ada Alan  LOC:New  LOC:York"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
