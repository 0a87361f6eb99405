#!/usr/bin/env bash
# transformers 5.23: `neftune_noise_alpha` of Trainer adds no noise to T5 and BART, without a word.
#
# What one would guess: TrainingArguments(neftune_noise_alpha=5) adds noise to the word vectors that the model reads, in
# training, for every model that has `get_input_embeddings()`; two runs with and without it end with other weights.
#
# What is true: the noise comes from a hook on the module that `get_input_embeddings()` returns. In T5 and BART that is
# `shared`, a module that is never called: encoder and decoder have modules of their own, whose matrices are tied to it.
# A run with noise is the same as one without, bit for bit. GPT-2 and Marian get noise (Marian's encoder only).
# What else hangs hooks on `get_input_embeddings()` (attributions, for example) sees nothing there either.
#
# Where it is from: transformers/integrations/neftune.py, `activate_neftune`; models/t5/modeling_t5.py, `T5Model` and
# `T5Stack`; models/bart/modeling_bart.py, `BartModel`, of 5.23.0.
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
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    MarianConfig,
    MarianMTModel,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
    set_seed,
)

rows = [{"input_ids": [5, 6, 7, 8 + row], "labels": [9, 8, 7, 2]} for row in range(4)]
layers = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
layers |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "vocab_size": 20, "max_position_embeddings": 8}
layers |= {"dropout": 0.0, "pad_token_id": 0, "decoder_start_token_id": 0}
models = {
    "GPT-2": lambda: GPT2LMHeadModel(
        GPT2Config(vocab_size=20, n_embd=16, n_layer=1, n_head=2, n_positions=8, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    ),
    "Marian": lambda: MarianMTModel(MarianConfig(**layers)),
    "BART": lambda: BartForConditionalGeneration(BartConfig(**layers)),
    "T5": lambda: T5ForConditionalGeneration(
        T5Config(vocab_size=20, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, dropout_rate=0.0, decoder_start_token_id=0)
    ),
}
for name, build in models.items():
    runs = []
    for noise in (None, 50.0):
        set_seed(0)
        model = build()
        arguments = TrainingArguments(
            output_dir=sys.argv[1], max_steps=3, neftune_noise_alpha=noise, save_strategy="no", report_to="none", use_cpu=True, disable_tqdm=True
        )
        Trainer(model, arguments, train_dataset=rows).train()
        runs.append(model.state_dict())
    same = all(torch.equal(value, runs[1][key]) for key, value in runs[0].items())
    print(f"{name}: weights after training with and without noise are {'equal' if same else 'different'}", file=sys.stderr)
PYTHON

seen="$(HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error "$folder/venv/bin/python" -W ignore "$folder/try.py" "$folder/runs" 2>&1 >/dev/null |
  grep 'with and without noise')"
expected="GPT-2: weights after training with and without noise are different
Marian: weights after training with and without noise are different
BART: weights after training with and without noise are equal
T5: weights after training with and without noise are equal"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
