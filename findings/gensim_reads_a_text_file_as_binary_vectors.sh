#!/usr/bin/env bash
# gensim 4.4.0: `load_word2vec_format("vectors.bin", binary=True)` of a file in word2vec's text format gives other words and
# vectors, without an error.
#
# What one would guess: the two formats have the same first line and then differ in all that follows, so that the wrong flag
# ends in an error, as it does the other way round (a binary file read as text fails to decode as UTF-8).
#
# What is true: the reader takes the digits after the first word for float32 numbers, goes on after 4 x size bytes wherever
# that is, and takes what it finds up to the next space for a word. If the file is long enough for the count in its first
# line, it ends well: here the words are "cat", "0" and "0\ndog", and all numbers are near 1e-9. word2vec's own program
# writes both formats under any name, and text files named .bin are common.
#
# Where it is from: gensim/models/keyedvectors.py, `_word2vec_read_binary`, of 4.4.0.
#
# It needs Python 3.11 to 3.13, and downloads gensim into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check gensim==4.4.0
cd "$folder"

cat >read.py <<'PYTHON'
from gensim.models import KeyedVectors

vectors = {"cat": [0.1, 0.2, 0.3, 0.4], "dog": [0.5, 0.6, 0.7, 0.8], "mouse": [-0.1, 0.25, 0.5, 1.0]}
with open("vectors.bin", "w", encoding="utf-8") as file:
    file.write("3 4\n")
    for word, numbers in vectors.items():
        file.write(f"{word} {' '.join(f'{number:.6f}' for number in numbers)}\n")

as_text = KeyedVectors.load_word2vec_format("vectors.bin", binary=False)
print("binary=False:", as_text.index_to_key, as_text["cat"])
as_binary = KeyedVectors.load_word2vec_format("vectors.bin", binary=True)
print("binary=True: ", as_binary.index_to_key, as_binary["cat"])
assert as_text.index_to_key == list(vectors)
assert as_binary.index_to_key == ["cat", "0", "0\ndog"], "the behaviour has changed"
PYTHON
venv/bin/python read.py
