#!/usr/bin/env bash
# compare-mt 0.2.10: its intervals are those of half the test set, about 1.41 times as wide as those of the test set.
#
# What one would guess: a bootstrap draws as many sentences as there are, so that the printed interval of 95 % is the score plus
# and minus 1.96 standard errors. 400 sentences of which half are right and half are wrong have a mean of 50 with a standard
# error of 2.5, and so an interval of 45.1 to 54.9.
#
# What is true: each of the samples has half as many sentences, and no option of the program changes this. The interval is that
# of 200 sentences, 43 to 57, and the p-value of a comparison is too large as well: a difference that is 2 standard errors
# counts as 1.41. The report does not mention it. Those who compare its intervals with sacreBLEU's, which draw all sentences,
# find other errors for the same scores.
#
# Where it is from: compare_mt/sign_utils.py, `sample_ratio=0.5` of `eval_with_paired_bootstrap`, and its calls in
# compare_mt/compare_mt_main.py, of 0.2.10.
#
# It needs Python 3.9 or later, and downloads compare-mt and what it imports into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    compare-mt==0.2.10 sacrebleu==2.5.1 nltk==3.9.1 numpy==1.26.4 matplotlib==3.9.2 absl-py==2.1.0 six==1.16.0
cd "$folder"

cat >interval.py <<'PYTHON'
import logging
import re
import subprocess

import numpy as np
from compare_mt import sign_utils
from compare_mt.scorers import create_scorer_from_profile

logging.disable()
right, wrong = "the cat sat on the mat".split(), "a dog ran to my house".split()
references = [right] * 400
system = [right if number % 2 else wrong for number in range(400)]
scorer = create_scorer_from_profile("sentbleu")
score, _ = scorer.score_corpus(references, system)
np.random.seed(0)
_, (found,) = sign_utils.eval_with_paired_bootstrap(references, [system], None, scorer, None, num_samples=2000)
scale = 50 / score  # sentence BLEU is smoothed; a wrong sentence has nearly nothing
half = (found["upper_bound"] - found["lower_bound"]) / 2 * scale
print(f"score {score * scale:.1f}, interval {found['lower_bound'] * scale:.1f} to {found['upper_bound'] * scale:.1f}")
print(f"half of it: {half:.1f}; 1.96 standard errors of 400 sentences: {1.96 * 50 / 400**0.5:.1f}, of 200: {1.96 * 50 / 200**0.5:.1f}")

for name, lines in (("reference", references), ("system", system)):
    with open(name, "w") as file:
        file.writelines(" ".join(words) + "\n" for words in lines)
command = ["venv/bin/compare-mt", "reference", "system", "system", "--compare_scores", "score_type=sentbleu,bootstrap=2000"]
report = subprocess.run(command, capture_output=True, text=True, check=True).stdout
low, high = map(float, re.search(r"\[([\d.]+),([\d.]+)\]", report).groups())
print(f"the program's report: [{low}, {high}]")
for one in (half, (high - low) / 2 * scale):
    assert abs(one - 1.96 * 50 / 200**0.5) < 0.1 * one, "the behaviour has changed"
PYTHON
venv/bin/python interval.py
