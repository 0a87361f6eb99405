#!/usr/bin/env bash
# transformers 5.24: generate() silently continues another text with a model of one's own whose cache is `past_key_values`.
#
# What one would guess: 5.24 renames the argument `past_key_values` to `cache`, and its release says that the old name is
# translated until 5.40. So the code of a published model (`trust_remote_code=True`), or of a plugin, whose `forward` names
# `past_key_values` and takes `**kwargs`, goes on as before.
#
# What is true: only the functions of transformers itself are wrapped in the translation. generate() gives such a model
# `cache=`, which falls into `**kwargs`; `past_key_values` stays None, and from the second step on the model reads one
# token without what came before. No error is raised and no warning names the argument. With `use_cache=False` the text
# is the right one. The model below is exact: the next token is the sum of all tokens so far, modulo 50.
#
# Where it is from: transformers/generation/utils.py, `prepare_inputs_for_generation` and `_update_model_kwargs_for_generation`,
# of 5.23.0 and 5.24.0.
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
import torch
import transformers
from transformers import DynamicCache, GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast


class SumConfig(PreTrainedConfig):
    model_type = "sum_of_tokens"
    vocab_size: int = 50
    hidden_size: int = 8
    num_hidden_layers: int = 1
    num_attention_heads: int = 1
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    pad_token_id: int | None = None


class SumForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = SumConfig

    def __init__(self, config):
        super().__init__(config)
        self.embed_tokens = torch.nn.Embedding(config.vocab_size, config.hidden_size)
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, past_key_values=None, use_cache=None, **kwargs):
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache()
        seen = input_ids[:, None, :, None].float()
        if past_key_values is not None:
            seen, _ = past_key_values.update(seen, seen, 0)
        total = seen.sum((1, 2, 3)).long() % self.config.vocab_size
        logits = torch.nn.functional.one_hot(total, self.config.vocab_size).float()[:, None]
        return CausalLMOutputWithPast(logits=logits, past_key_values=past_key_values)


model = SumForCausalLM(SumConfig()).eval()
for use_cache in (False, True):
    ids = model.generate(torch.tensor([[1, 2, 3]]), max_new_tokens=5, do_sample=False, use_cache=use_cache)
    print(transformers.__version__, f"use_cache={use_cache}:", *ids[0].tolist())
PYTHON

run() { PYTHONPATH="$folder/$1" HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/try.py" 2>/dev/null; }
seen="$(run 5.23.0; run 5.24.0)"
expected="5.23.0 use_cache=False: 1 2 3 6 12 24 48 46
5.23.0 use_cache=True: 1 2 3 6 12 24 48 46
5.24.0 use_cache=False: 1 2 3 6 12 24 48 46
5.24.0 use_cache=True: 1 2 3 6 6 6 6 6"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
