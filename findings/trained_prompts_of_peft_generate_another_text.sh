#!/usr/bin/env bash
# peft 0.21.2: a stock GPT-2 with a trained prompt or prefix generates another text under transformers 5.24, silently.
#
# What one would guess: peft names no upper bound of transformers, so its newest release generates the same text with
# 5.24.0 as with 5.23.0; or, since transformers 5.24.0 demands peft 0.22 or newer where it loads adapters itself
# (`model.add_adapter` raises a ValueError, and there was no such release yet), peft would refuse as well.
#
# What is true: `peft.get_peft_model` and `PeftModel.generate` check nothing. They look for the state under its old name,
# `past_key_values`, which generate() of 5.24 calls `cache`. They do not find it, and put the prompt in front of each new
# token once more, or start the prefix anew. With `use_cache=False` the text is the right one. LoRA is not concerned.
#
# Where it is from: peft/peft_model.py of 0.21.2, `PeftModelForCausalLM.prepare_inputs_for_generation`;
# transformers/integrations/peft.py of 5.24.0, `MIN_PEFT_VERSION`.
#
# It needs Python 3.11 or later, and downloads torch, peft and two releases of transformers into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip() { "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
pip torch==2.13.0 numpy==2.4.6 transformers==5.24.0 peft==0.21.2 accelerate==1.15.0
pip --no-deps --target "$folder/5.23.0" transformers==5.23.0
mkdir "$folder/5.24.0"  # nothing in front: the environment's own

cat >"$folder/try.py" <<'PYTHON'
import peft
import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
sizes = {"n_layer": 2, "n_embd": 32, "n_head": 2, "vocab_size": 50, "n_positions": 64}
base = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=None, eos_token_id=None))
for parameter in base.parameters():
    torch.nn.init.normal_(parameter, std=0.3)
ids = torch.randint(50, (20, 5))
given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
for kind in (peft.PromptTuningConfig, peft.PrefixTuningConfig):
    model = peft.get_peft_model(base, kind(task_type="CAUSAL_LM", num_virtual_tokens=4)).eval()
    for parameter in model.prompt_encoder.parameters():
        torch.nn.init.normal_(parameter)
    with_cache, without = (
        model.generate(**given, max_new_tokens=8, do_sample=False, pad_token_id=0, use_cache=cache)
        for cache in (True, False)
    )
    same = "the same with a cache as" if torch.equal(with_cache, without) else "other texts with a cache than"
    print(transformers.__version__, f"{kind.__name__}: {same} without")
PYTHON

run() { PYTHONPATH="$folder/$1" HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/try.py" 2>/dev/null; }
seen="$(run 5.23.0; run 5.24.0)"
expected="5.23.0 PromptTuningConfig: the same with a cache as without
5.23.0 PrefixTuningConfig: the same with a cache as without
5.24.0 PromptTuningConfig: other texts with a cache than without
5.24.0 PrefixTuningConfig: other texts with a cache than without"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
