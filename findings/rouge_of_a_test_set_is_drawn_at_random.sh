#!/usr/bin/env bash
# rouge-score 0.1.2: the ROUGE of a test set, `mid` of `BootstrapAggregator`, is not the mean of its summaries, and differs from call
# to call.
#
# What one would guess: `low` and `high` are drawn, and `mid` is the mean, as the code's documentation says ("always the mean").
# The same summaries have the same ROUGE twice.
#
# What is true: `mid` is the median of 1,000 means of summaries drawn again with numpy's global generator, without a seed of its
# own. It misses the mean by about a twenty-fifth of the standard error, which for 100 summaries is about a tenth of a point in
# the usual scale of 100: the digit by which papers and model cards differ. Precision, recall and F are three medians of their
# own. The metric "rouge" of Hugging Face's evaluate returns `mid` unless `use_aggregator=False` is given, so two evaluations of
# one file of summaries disagree, and drawing also moves numpy's generator, so code that runs after it gets other numbers.
#
# Where it is from: rouge_score/scoring.py, `_bootstrap_resample` of 0.1.2; metrics/rouge/rouge.py of huggingface/evaluate
# (commit 085121968c00e3adfff7ab1781a92d5e2e85d224).
#
# It needs Python 3.9 or later, and downloads rouge-score into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    rouge-score==0.1.2 numpy==1.26.4 nltk==3.9.1 absl-py==2.1.0 six==1.16.0
cd "$folder"

cat >twice.py <<'PYTHON'
import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.scoring import BootstrapAggregator

words = "the cat sat on a mat and saw no dog".split()
scorer, random = RougeScorer(["rouge1"]), np.random.default_rng(0)
scores = [scorer.score(" ".join(words), " ".join(words[: random.integers(1, 10)])) for _ in range(100)]
values = np.array([score["rouge1"].fmeasure for score in scores])
mean, error = 100 * values.mean(), 100 * values.std() / 10
print(f"mean of 100 summaries: {mean:.2f}, standard error {error:.2f}")

np.random.seed(0)
found = []
for _ in range(20):
    aggregator = BootstrapAggregator()
    for score in scores:
        aggregator.add_scores(score)
    found.append(100 * aggregator.aggregate()["rouge1"].mid.fmeasure)
print("mid of the same summaries:", *(f"{one:.2f}" for one in found[:5]), "...")
print(f"of 20 calls: {min(found):.2f} to {max(found):.2f}")
assert len(set(found)) > 10, "the behaviour has changed"
assert 0.02 * error < np.std(found) < 0.08 * error, "the behaviour has changed"
PYTHON
venv/bin/python twice.py
