#!/usr/bin/env bash
# transformers 5.23: Trainer logs and minimises too small a loss of GPT-2, as of every language model not named ForCausalLM.
#
# What one would guess: Trainer's loss of one batch is the loss that the model itself returns for it.
#
# What is true: with labels in every place, GPT-2's loss is divided by one label too many per row: rows of 4 tokens have
# 3/4 of their loss and of their gradient, for Llama all of it. The first label of a row is never predicted, and Trainer
# leaves it out of the count only where `model.loss_type` is "ForCausalLM", which is taken from the class's name:
# GPT2LMHeadModel has None, though its loss shifts labels in the same way.
#
# Where it is from: transformers/trainer.py of 5.23.0, `_loss_shifts_labels` and `_get_num_items_in_batch`;
# modeling_utils.py, `PreTrainedModel.__init__` (`loss_type`) and `loss_function`, which takes ForCausalLM for None.
#
# It needs Python 3.11 or later, and downloads torch and transformers into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    torch==2.13.0 numpy==2.4.6 transformers==5.23.0 accelerate==1.15.0

cat >"$folder/try.py" <<'PYTHON'
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 11}
models = [
    GPT2LMHeadModel(GPT2Config(**sizes, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)),
    LlamaForCausalLM(LlamaConfig(**sizes, intermediate_size=8)),
]
row = [1, 2, 3, 4]
for model in models:
    batch = torch.tensor([row, row])
    with torch.no_grad():
        own = model(batch, labels=batch).loss.item()
    options = {"max_steps": 1, "logging_steps": 1, "use_cpu": True, "report_to": [], "save_strategy": "no"}
    trainer = Trainer(model, TrainingArguments(sys.argv[1], **options), train_dataset=[{"input_ids": row, "labels": row}] * 2)
    trainer.train()
    logged = trainer.state.log_history[0]["loss"]
    print(f"{type(model).__name__}, loss_type {model.loss_type}: {logged / own:.3f} of its loss", file=sys.stderr)
PYTHON

"$folder/venv/bin/python" "$folder/try.py" "$folder/run" 2>&1 >/dev/null | grep "of its loss" >"$folder/found"
cat "$folder/found"
diff "$folder/found" - <<'EXPECTED'
GPT2LMHeadModel, loss_type None: 0.750 of its loss
LlamaForCausalLM, loss_type ForCausalLM: 1.000 of its loss
EXPECTED
