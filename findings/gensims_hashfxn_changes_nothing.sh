#!/usr/bin/env bash
# gensim 4.4.0: the argument `hashfxn` of Word2Vec and FastText is kept, and training never calls it; vectors are the same with
# any function, and in any Python process, whatever its hashes of strings are.
#
# What one would guess from the documentation: a word's first vector comes from hash(word + seed), so a training that can be
# repeated needs PYTHONHASHSEED or a `hashfxn` of one's own, beside a seed and one worker; and those who repeat vectors of gensim 3
# by their old `hashfxn` get the old start.
#
# What is true: since gensim 4 all first vectors are drawn at once by numpy's generator, from `seed` alone. A function that returns
# the same number for every word, or that raises an error, gives bit-equal vectors; so do processes with other hashes. What
# the argument was for is no longer needed, and old results cannot be repeated by it, without a warning.
#
# Where it is from: gensim/models/word2vec.py (`hashfxn` in the documentation of `Word2Vec`, `init_weights`) and keyedvectors.py
# (`resize_vectors`, `prep_vectors`), of 4.4.0.
#
# It needs Python 3.11 to 3.13, and downloads gensim into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check gensim==4.4.0
cd "$folder"

cat >train.py <<'PYTHON'
import hashlib

from gensim.models import FastText, Word2Vec

texts = [["the", "cat", "saw", "a", "dog"], ["a", "dog", "saw", "the", "mouse"]] * 20


def refuse(word):
    raise ValueError(word)


for kind in (Word2Vec, FastText):
    found = {}
    for name, settings in {
        "default": {},
        "all words alike": {"hashfxn": lambda word: 0},
        "an error": {"hashfxn": refuse},
        "another seed": {"seed": 2},
    }.items():
        model = kind(texts, vector_size=8, min_count=1, workers=1, **settings)
        found[name] = hashlib.sha256(model.wv.vectors.tobytes()).hexdigest()[:8]
    print(kind.__name__, found)
    same = [digest == found["default"] for digest in found.values()]
    assert same == [True, True, True, False], "the behaviour has changed"
PYTHON
PYTHONHASHSEED=1 venv/bin/python train.py | tee one
PYTHONHASHSEED=2 venv/bin/python train.py | tee two
cmp one two
