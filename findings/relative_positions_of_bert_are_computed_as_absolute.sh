#!/usr/bin/env bash
# transformers 5.23: BERT, RoBERTa, ELECTRA, ALBERT and their kin compute relative positions as absolute ones, without a word.
#
# What one would guess: a checkpoint whose configuration has position_embedding_type "relative_key" (Shaw et al. 2018; such
# BERTs were published and trained with transformers 4) is computed with relative positions, or refused.
#
# What is true: nothing reads the field any more. It is kept in the configuration, saved again, and the model is the one of
# "absolute", bit for bit: it has no `distance_embedding`, so these weights of a checkpoint are left over. ESM still reads
# a field of this name, so its outputs differ.
#
# Where it is from: transformers/models/{bert,roberta,electra,albert}/modeling_*.py of 5.23.0, which do not hold the name
# `position_embedding_type`; models/esm/modeling_esm.py, which does. transformers 4.57 read it in all of them.
#
# It needs Python 3.11 or later, and downloads torch and transformers into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 transformers==5.23.0

cat >"$folder/try.py" <<'PYTHON'
import torch
import transformers

shape = {"vocab_size": 40, "hidden_size": 16, "embedding_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
shape |= {"intermediate_size": 16, "max_position_embeddings": 32, "pad_token_id": 1}
for name in ("Bert", "Roberta", "Electra", "Albert", "Esm"):
    outputs = []
    for kind in ("absolute", "relative_key"):
        torch.manual_seed(0)
        config = getattr(transformers, f"{name}Config")(**shape, position_embedding_type=kind)
        model = getattr(transformers, f"{name}Model")(config).eval()
        with torch.no_grad():
            outputs.append(model(torch.arange(5, 15)[None]).last_hidden_state)
    kept, same = config.to_dict()["position_embedding_type"], torch.equal(*outputs)
    print(f"{name}: the field is {kept}, the outputs are {'those of absolute positions' if same else 'others'}")
PYTHON

seen="$(HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error "$folder/venv/bin/python" -W ignore "$folder/try.py" 2>/dev/null)"
expected="Bert: the field is relative_key, the outputs are those of absolute positions
Roberta: the field is relative_key, the outputs are those of absolute positions
Electra: the field is relative_key, the outputs are those of absolute positions
Albert: the field is relative_key, the outputs are those of absolute positions
Esm: the field is relative_key, the outputs are others"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
