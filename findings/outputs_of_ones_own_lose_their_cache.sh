#!/usr/bin/env bash
# transformers 5.24: a ModelOutput of one's own that declares `past_key_values` cannot be built by that name, or loses it.
#
# What one would guess: outputs translate the old name to the new one in both directions, so a dataclass that subclasses
# ModelOutput and declares a field `past_key_values` keeps it.
#
# What is true: the base class renames the keyword before the generated `__init__` sees it, so building by keyword is a
# TypeError about `cache`, a word that the class does not have. Built by position nothing is raised: the value is set and
# cannot be found again, neither as an attribute, nor as a key, nor in the tuple.
#
# Where it is from: transformers/utils/generic.py of 5.24.0, `_BCCacheNameMeta`, `_rename_kwargs_for_bc` and
# `ModelOutput.past_key_values`.
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
from dataclasses import dataclass

import transformers
from transformers.utils import ModelOutput


@dataclass
class OwnOutput(ModelOutput):
    loss: float | None = None
    past_key_values: str | None = None


version = transformers.__version__
try:
    print(version, "by keyword:", OwnOutput(loss=1.0, past_key_values="the state").to_tuple())
except TypeError as error:
    print(version, "by keyword:", error)
outputs = OwnOutput(1.0, "the state")
print(version, "by position:", outputs.to_tuple(), outputs.past_key_values, "past_key_values" in outputs)
PYTHON

run() { PYTHONPATH="$folder/$1" HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/try.py" 2>/dev/null; }
seen="$(run 5.23.0; run 5.24.0)"
expected="5.23.0 by keyword: (1.0, 'the state')
5.23.0 by position: (1.0, 'the state') the state True
5.24.0 by keyword: OwnOutput.__init__() got an unexpected keyword argument 'cache'
5.24.0 by position: (1.0,) None False"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
