#!/usr/bin/env bash
# evaluate 0.4: a metric that is loaded by its path does not find the files beside it.
#
# What one would guess: `evaluate.load("folder/length.py")` runs that file where it is, so a list of words beside it is found
# by `Path(__file__).with_name("words.txt")`, as in any other module that is run by its path.
#
# What is true: each load copies the file into a folder of the user's cache (`$HF_HOME/modules/evaluate_modules/metrics/
# length/HASH/`) and imports the copy. Of the files beside it only Python files come along that the metric names by a
# relative import (`from .helper import x`). A data file is left behind: the metric loads without a warning, and fails, or
# goes another way, when it is computed. The hash is that of the code, so a change of the data file is no other metric.
#
# Where it is from: evaluate/loading.py, `LocalEvaluationModuleFactory.get_module` and `_copy_script_and_other_resources_in_
# importable_dir`, of 0.4.6. Metrics with lists of stop words, vocabularies or settings beside them are common.
#
# It needs Python 3.11 or later, and downloads evaluate and datasets into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check evaluate==0.4.6 datasets==4.8.0

mkdir "$folder/metrics"
echo "cat" >"$folder/metrics/words.txt"
echo 'COUNT = 1' >"$folder/metrics/helper.py"
cat >"$folder/metrics/length.py" <<'PYTHON'
from pathlib import Path

import datasets
import evaluate

from .helper import COUNT


class Length(evaluate.Metric):
    def _info(self):
        features = datasets.Features({"predictions": datasets.Value("string"), "references": datasets.Value("string")})
        return evaluate.MetricInfo(description="", citation="", features=features)

    def _compute(self, predictions, references):
        own = Path(__file__)
        return {"helper": COUNT, "words": own.with_name("words.txt").is_file(), "folder": own.parent.name == "metrics"}
PYTHON
cat >"$folder/try.py" <<'PYTHON'
import sys

import evaluate

found = evaluate.load(sys.argv[1] + "/metrics/length.py").compute(predictions=["a"], references=["a"])
print("helper", found["helper"], "| words.txt is beside it:", found["words"], "| its own folder:", found["folder"])
PYTHON

seen="$(HF_HOME="$folder/cache" HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/try.py" "$folder" 2>/dev/null)"
expected="helper 1 | words.txt is beside it: False | its own folder: False"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
