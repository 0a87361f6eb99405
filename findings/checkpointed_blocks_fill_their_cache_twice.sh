#!/usr/bin/env bash
# transformers 5.24: a checkpointed block of one's own whose argument is `past_key_values` fills the cache, twice.
#
# What one would guess: GradientCheckpointingLayer takes the cache out of a block's arguments when it recomputes the block
# in the backward pass, with a line in the log ("Caching is incompatible with gradient checkpointing"), whatever the block
# calls it.
#
# What is true: it looks for two names, in 5.23 `past_key_values` and `layer_past`, in 5.24 `cache` and `layer_past`. A block
# that still says `past_key_values` keeps its cache under checkpointing: keys and values are added in the forward pass and
# once more in the backward pass, without a word. `layer_past` is taken out by both.
#
# Where it is from: transformers/modeling_layers.py, `GradientCheckpointingLayer.__call__`, of 5.23.0 and 5.24.0.
#
# It needs Python 3.11 or later, and downloads torch and two releases of transformers into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip() { "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
pip torch==2.13.0 numpy==2.4.6 transformers==5.24.0
pip --no-deps --target "$folder/5.23.0" transformers==5.23.0
mkdir "$folder/5.24.0"  # nothing in front: the environment's own

cat >"$folder/try.py" <<'PYTHON'
from functools import partial

import torch
import transformers
from torch.utils.checkpoint import checkpoint
from transformers import DynamicCache
from transformers.modeling_layers import GradientCheckpointingLayer


class Block(GradientCheckpointingLayer):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.Linear(4, 4)

    def forward(self, hidden, past_key_values=None, layer_past=None):
        keys, cache = self.weights(hidden)[:, None], past_key_values or layer_past
        if cache is not None:
            keys, _ = cache.update(keys, keys, 0)
        return keys.sum((1, 2))


for name in ("past_key_values", "layer_past"):
    block, cache = Block().train(), DynamicCache(config=transformers.GPT2Config(n_layer=1))
    block.gradient_checkpointing = True
    block._gradient_checkpointing_func = partial(checkpoint, use_reentrant=True)
    outputs = block(torch.ones(1, 3, 4, requires_grad=True), **{name: cache})
    forward = cache.get_seq_length()
    outputs.sum().backward()
    print(transformers.__version__, f"{name}: {forward} cached after forward, {cache.get_seq_length()} after backward")
PYTHON

run() { PYTHONPATH="$folder/$1" HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/try.py" 2>/dev/null; }
seen="$(run 5.23.0; run 5.24.0)"
expected="5.23.0 past_key_values: 0 cached after forward, 0 after backward
5.23.0 layer_past: 0 cached after forward, 0 after backward
5.24.0 past_key_values: 3 cached after forward, 6 after backward
5.24.0 layer_past: 0 cached after forward, 0 after backward"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
