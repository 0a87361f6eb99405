#!/usr/bin/env bash
# tokenizers 0.23: a byte-level tokenizer decodes an added token such as `Élan` to `�lan`, and after add_tokens(["é"])
# every `é` of a text.
#
# What one would guess: an added token is written as it was added, since it is no piece of bytes, and `add_tokens` gives a
# new id to a string that the tokenizer has no token for.
#
# What is true: the decoder takes each character of any token for a byte if it is among the 256 that name bytes, and all
# printable letters of Latin-1 are: É is the byte C9, not its two bytes in UTF-8. Only a token with some other character (a
# space, a letter above U+0143) is written as it is. And `é` is in every byte-level vocabulary, as the name of the byte E9:
# `add_tokens(["é"])` makes that token the one for `é` in texts, in place of C3 A9. The round trip is lost for all French.
#
# Where it is from: tokenizers/src/pre_tokenizers/byte_level.rs, `decode_chain`, and tokenizers/src/tokenizer/
# added_vocabulary.rs, `add_tokens`, of 0.23.3. GPT-2, RoBERTa, Llama 3 and Qwen have such tokenizers.
#
# It needs Python 3.11 or later, and downloads tokenizers into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check tokenizers==0.23.3

cat >"$folder/try.py" <<'PYTHON'
from tokenizers import Tokenizer, decoders, models, pre_tokenizers


def tokenizer(*added):
    bytes_ = {name: number for number, name in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = Tokenizer(models.BPE(bytes_, merges=[]))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.add_tokens(list(added))
    return made


for added, text in (((), "né Élan"), (("Élan",), "né Élan"), (("Éla n",), "né Éla n"), (("é",), "né")):
    one = tokenizer(*added)
    encoded = one.encode(text)
    print(list(added), text, "->", one.decode(encoded.ids), len(encoded.ids), "tokens, vocabulary", one.get_vocab_size())
PYTHON

seen="$("$folder/venv/bin/python" "$folder/try.py")"
expected="[] né Élan -> né Élan 9 tokens, vocabulary 256
['Élan'] né Élan -> né �lan 5 tokens, vocabulary 257
['Éla n'] né Éla n -> né Éla n 5 tokens, vocabulary 257
['é'] né -> n� 2 tokens, vocabulary 256"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
