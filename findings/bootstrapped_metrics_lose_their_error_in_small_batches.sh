#!/usr/bin/env bash
# torchmetrics 1.9.0: with `sampling_strategy="multinomial"`, the standard error of `BootStrapper` depends on the batch size, and
# in batches of one it is zero.
#
# What one would guess: a metric with state is the same whatever the batches are, and so is its bootstrapped error. 200 values
# with a standard deviation of 0.5 have a mean with a standard error of 0.035, and both strategies find it.
#
# What is true: the wrapper draws again within each batch, since it keeps no values. The multinomial strategy draws as many
# values from a batch as it has, so the differences between batches are never drawn: of the variance, 1 - 1/size is left.
# Batches of two have 0.71 of the error; a batch of one is drawn as it is, and the error is 0.0, without a warning. Those who
# evaluate a generator or a translator text by text see a result without error. The default strategy, "poisson", repeats each
# value independently of the others, and its error is right for every batch size.
#
# Where it is from: torchmetrics/wrappers/bootstrapping.py, `_bootstrap_sampler` and `BootStrapper.update`, of 1.9.0.
#
# It needs Python 3.11 or later, and downloads torch and torchmetrics into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check torch==2.13.0 torchmetrics==1.9.0
cd "$folder"

cat >errors.py <<'PYTHON'
import torch
from torchmetrics import MeanMetric
from torchmetrics.wrappers import BootStrapper

torch.manual_seed(0)
values = torch.arange(200) % 2 * 1.0
right = (values.std() / len(values) ** 0.5).item()
print(f"standard deviation / sqrt(200): {right:.4f}")
for strategy in ("poisson", "multinomial"):
    for size in (1, 2, 200):
        metric = BootStrapper(MeanMetric(), num_bootstraps=400, sampling_strategy=strategy)
        for start in torch.randperm(200).split(size):
            metric.update(values[start])
        error = metric.compute()["std"].item()
        print(f"{strategy}, batches of {size}: {error:.4f}")
        expected = right * (1 - 1 / size) ** 0.5 if strategy == "multinomial" else right
        assert abs(error - expected) < 0.15 * right, "the behaviour has changed"
PYTHON
venv/bin/python errors.py
