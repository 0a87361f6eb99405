#!/usr/bin/env bash
# pocketsphinx 5.1.1: where pruning removed the last words of an n-gram that is still there, other probabilities are wrong.
#
# What one would guess: an ARPA file may have the 4-gram "a b c d" without the 3-gram "b c d": pruning by entropy
# leaves such files, and by the definition of back-off, P(d | b c) is then bow(b c) P(d | c). KenLM, SRILM and
# Kaldi compute this. `NGramModel.prob` does, too, or the file is refused.
#
# What is true: the trie needs "b c d" as a node, and its builder inserts it with P(d | c) and the weight of the *word* b, not
# that of b c; then the sum is replaced by the nearest value that a 3-gram of the file happens to have. Nothing is said. Below,
# log10 P(d | x b c) is -2.5 by the file, and read as -1.1. Without the 4-gram it is right. What helps: add the missing
# n-grams to the file, with the probability that back-off gives and the weight 0.
#
# Also: words are given to `prob` with the last one first.
#
# Where it is from: src/lm/lm_trie.c, `recursive_insert` ("calculate prob for blank") and `lm_trie_quant_mwrite`.
#
# It needs Python 3.9 or later, and downloads pocketsphinx into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps pocketsphinx==5.1.1

cat >"$folder/try.py" <<'PYTHON'
import math
import pathlib
import sys

from pocketsphinx import Config, LogMath, NGramModel

ONES = ["-99\t<s>\t0", "-1\t</s>\t0", "-1\ta\t0", "-1\tb\t-0.1", "-1\tc\t0", "-1\td\t0", "-1\tx\t0"]
TWOS = ["-0.5\ta b\t0", "-0.5\tb c\t-1.5", "-1\tc d\t0", "-2\tc x\t0", "-2\tc a\t0", "-0.5\tx b\t0"]
THREES = ["-0.3\ta b c\t0", "-0.3\tx b c\t0", "-1.1\tb c a\t0"]
FOURS = ["-0.2\ta b c d", "-0.2\ta b c x"]
path = pathlib.Path(sys.argv[1], "lm.arpa")
for name, fours, threes in (
    ("as pruned", FOURS, THREES),
    ("without a b c d", FOURS[1:], [*THREES, "-2\tb c x\t0"]),
    ("b c d added", FOURS, [*THREES, "-2.5\tb c d\t0", "-2\tb c x\t0"]),
):
    sections = [ONES, TWOS, threes, fours]
    text = "\\data\\\n" + "".join(f"ngram {n}={len(rows)}\n" for n, rows in enumerate(sections, 1))
    text += "".join(f"\n\\{n}-grams:\n" + "\n".join(rows) + "\n" for n, rows in enumerate(sections, 1))
    path.write_text(text + "\n\\end\\\n")
    model = NGramModel(Config(lw=1.0, wip=1.0), LogMath(), str(path))
    found = model.prob(["d", "c", "b", "x"]) * math.log10(1.0001)
    print(f"{name}: log10 P(d | x b c) = {found:.2f}")
PYTHON

seen="$("$folder/venv/bin/python" "$folder/try.py" "$folder" 2>/dev/null)"
expected="as pruned: log10 P(d | x b c) = -1.10
without a b c d: log10 P(d | x b c) = -2.50
b c d added: log10 P(d | x b c) = -2.50"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
