#!/usr/bin/env bash
# nltk 3.10.4: `nltk.metrics.scores.approxrand`, its test by approximate randomization, shuffles the scores of both systems as one
# list, so that a gain on every single sentence is not significant; and its `random` is not used.
#
# What one would guess: approximate randomization as it is known from the evaluation of translators and taggers (Noreen 1989; Yeh
# 2000; Riezler and Maxwell 2005), where two systems read the same sentences, and a shuffle exchanges the two scores of a sentence
# or leaves them. If one system is better on each of 50 sentences, almost no such shuffle has as large a difference of the means.
#
# What is true: the scores of both lists are shuffled together, as for two independent groups of sentences. The differences between
# the sentences remain in the test: here a gain of 0.02 on each of 50 sentences has a level of more than 0.5, and of 0.001 when
# pairs are kept. Errors are on the side of "not significant". There is no argument for pairs. All keywords are accepted, so
# `random=Random(0)` passes and the level still differs from call to call: the shuffles come from Python's global generator.
#
# Where it is from: nltk/metrics/scores.py, `approxrand`, of 3.10.4; its documentation says "independently generated test values".
#
# It needs Python 3.10 or later, and downloads nltk into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check nltk==3.10.4
cd "$folder"

cat >compare.py <<'PYTHON'
import random

from nltk.metrics.scores import approxrand

draw = random.Random(1)
one = [draw.gauss(0.5, 0.2) for _ in range(50)]
other = [score + 0.02 for score in one]

random.seed(0)
together = [approxrand(one, other, random=random.Random(0))[0] for _ in range(3)]
print("approxrand:", together)

found = 0
for _ in range(999):
    differences = [(b - a) * draw.choice((-1, 1)) for a, b in zip(one, other)]
    found += abs(sum(differences)) >= sum(b - a for a, b in zip(one, other)) - 1e-9
paired = (found + 1) / 1000
print("with pairs:", paired)
assert min(together) > 0.5 and paired == 0.001, "the behaviour has changed"
assert len(set(together)) > 1, "the behaviour has changed"
PYTHON
venv/bin/python compare.py
