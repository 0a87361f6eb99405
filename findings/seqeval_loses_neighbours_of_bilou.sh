#!/usr/bin/env bash
# seqeval 1.2.2: in its default mode, BILOU's neighbouring entities of one kind are merged, or the first one is lost.
#
# What one would guess: `f1_score` reads the tags of BILOU, which the README lists ("only in strict mode"), or else refuses
# them. In BILOU, L ends an entity and U is one of a single word, so `U-PER U-PER` and `B-LOC L-LOC B-LOC L-LOC` are two
# entities each.
#
# What is true: BILOU is read only with `mode="strict", scheme=BILOU`. The default mode knows B, I, E, S and O. To it, L and U
# are letters that neither begin nor end anything: an entity goes on until O, another kind or a B follows. Two neighbours of one
# word become one entity of two, and where the second of two neighbours begins with B, the first is lost. Predictions that
# miss the lost entity have an F1 of 1. Only a warning, "L-LOC seems not to be NE tag", hints at it. With the same entities in
# BIOES (E for L, S for U) or BIO, the counts are right.
#
# Where it is from: seqeval/metrics/sequence_labeling.py, `end_of_chunk` and `start_of_chunk`, of 1.2.2. `evaluate.load(
# "seqeval")` has the same default.
#
# It needs Python 3.11 or later, and downloads seqeval (with numpy and scikit-learn) into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check seqeval==1.2.2

cat >"$folder/try.py" <<'PYTHON'
import warnings

from seqeval.metrics import f1_score
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import BILOU

warnings.simplefilter("ignore")
two_names = ["U-PER", "U-PER"]
two_places = ["B-LOC", "L-LOC", "B-LOC", "L-LOC"]
missed = ["O", "O", "B-LOC", "L-LOC"]
as_bioes = str.maketrans("LU", "ES")
written = [tag[0].translate(as_bioes) + tag[1:] for tag in two_places]
print("BILOU, two persons:", get_entities(two_names))
print("BILOU, two places:", get_entities(two_places), "| BIOES:", get_entities(written))
print("F1 where the first place is missed:", f1_score([two_places], [missed]), end=" | strict: ")
print(round(f1_score([two_places], [missed], mode="strict", scheme=BILOU), 3))
PYTHON

seen="$("$folder/venv/bin/python" "$folder/try.py")"
expected="BILOU, two persons: [('PER', 0, 1)]
BILOU, two places: [('LOC', 2, 3)] | BIOES: [('LOC', 0, 1), ('LOC', 2, 3)]
F1 where the first place is missed: 1.0 | strict: 0.667"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
