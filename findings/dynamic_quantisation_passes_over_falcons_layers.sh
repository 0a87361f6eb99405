#!/usr/bin/env bash
# torch 2.13 with transformers 5.23: `quantize_dynamic(model, {nn.Linear})` leaves Falcon's linear layers in float32.
#
# What one would guess: `torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear})` puts every linear layer of a model
# into 8 bits. A layer of a class derived from `nn.Linear` is an `nn.Linear`, as it is for peft's LoRA and for torchao's
# `quantize_`, which ask `isinstance`.
#
# What is true: the class of a layer is looked up in the given set, so it must be that class itself. transformers' Falcon has
# layers of `FalconLinear(nn.Linear)`: of 9 linear layers of a small model only the output layer becomes 8 bits, without a
# warning. GPT-NeoX, whose layers are plain, has all 9. To name the subclass in the set does not help: the layer is then
# looked up among those that have a quantised form, and there only `nn.Linear` is. Count the layers of
# `torch.ao.nn.quantized.dynamic.Linear` afterwards.
#
# Where it is from: torch/ao/quantization/quantize.py, `_convert` and `swap_module` (`type_before_parametrizations(mod) in
# mapping`), of 2.13.0; transformers/models/falcon/modeling_falcon.py, `FalconLinear`, of 5.23.0.
#
# It needs Python 3.11 or later, and downloads torch and transformers into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.23.0

cat >"$folder/try.py" <<'PYTHON'
import warnings

from torch import nn
from torch.ao.nn.quantized.dynamic import Linear
from torch.ao.quantization import quantize_dynamic
from transformers import FalconConfig, FalconForCausalLM, GPTNeoXConfig, GPTNeoXForCausalLM
from transformers.models.falcon.modeling_falcon import FalconLinear

warnings.filterwarnings("ignore")
shape = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
for model in (GPTNeoXForCausalLM(GPTNeoXConfig(**shape, intermediate_size=64)), FalconForCausalLM(FalconConfig(**shape))):
    layers = sum(isinstance(module, nn.Linear) for module in model.modules())
    found = [
        sum(isinstance(module, Linear) for module in quantize_dynamic(model.eval(), classes).modules())
        for classes in ({nn.Linear}, {nn.Linear, FalconLinear})
    ]
    print(f"{type(model).__name__}: of {layers} linear layers {found[0]} quantised, {found[1]} with the subclass named")
PYTHON

seen="$(HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/try.py" 2>/dev/null)"
expected="GPTNeoXForCausalLM: of 9 linear layers 9 quantised, 9 with the subclass named
FalconForCausalLM: of 9 linear layers 1 quantised, 1 with the subclass named"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
