#!/usr/bin/env bash
# @huggingface/tokenizers 0.2.0 (JavaScript): the pre-tokenizer `Punctuation` keeps "?!" together, whatever its behaviour is.
#
# What one would guess: a tokenizer.json gives the same tokens in JavaScript as in the library tokenizers that wrote it, or
# an error. `Punctuation` is in the package's list of components, and `isolated`, its default, makes each mark a token.
#
# What is true: the JavaScript class does not read `behavior`. Every run of marks is one piece, as `contiguous` has it:
# "wait?!" becomes "wait", "?!" where Python gives "wait", "?", "!" (isolated, merged_with_next), "wait?", "!"
# (merged_with_previous) or "wait" alone (removed). With a vocabulary of single marks the run is an unknown word: no error,
# other ids, and only in texts with two marks in a row (quotations, "...", "!!"). Its page says that three behaviours
# cannot be reproduced, but means `Split`; `isolated` is not among them. `BertPreTokenizer` splits rightly.
#
# Where it is from: src/core/preTokenizer/Punctuation.ts of @huggingface/tokenizers 0.2.0, beside tokenizers 0.23.3.
#
# It needs Python 3.11 or later, node 20 or later and npm, and downloads both packages into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check tokenizers==0.23.3
npm install --silent --no-audit --no-fund --prefix "$folder" @huggingface/tokenizers@0.2.0 >/dev/null
cd "$folder"

cat >write.py <<'PYTHON'
import json

from tokenizers import Tokenizer, models, pre_tokenizers

words = ["<unk>", "wait", "so", "?", "!", "?!", "wait?"]
python = {}
for behaviour in ("isolated", "contiguous", "removed", "merged_with_previous", "merged_with_next"):
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(behaviour)]
    )
    made.save(f"{behaviour}.json")
    python[behaviour] = made.encode("wait?! so").tokens
json.dump(python, open("python.json", "w"))
PYTHON
venv/bin/python write.py

cat >read.mjs <<'JAVASCRIPT'
import fs from "fs";
import { Tokenizer } from "@huggingface/tokenizers";

const python = JSON.parse(fs.readFileSync("python.json", "utf8"));
let asGuessed = false;
for (const [behaviour, expected] of Object.entries(python)) {
  const tokenizer = new Tokenizer(JSON.parse(fs.readFileSync(`${behaviour}.json`, "utf8")), {});
  const { tokens } = tokenizer.encode("wait?! so");
  console.log(`${behaviour}: Python ${expected.join(" ")}   JavaScript ${tokens.join(" ")}`);
  if (tokens.join(" ") !== "wait ?! so") asGuessed = true;
}
if (asGuessed || python.isolated.join(" ") !== "wait ? ! so") throw new Error("the behaviour has changed");
JAVASCRIPT
node read.mjs
