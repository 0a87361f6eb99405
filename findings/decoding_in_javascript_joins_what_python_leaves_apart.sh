#!/usr/bin/env bash
# @huggingface/tokenizers 0.2.0 (JavaScript): a tokenizer that transformers 5 saved decodes "do n't ." as "don't.".
#
# What one would guess: the two files that `save_pretrained` writes decode to the same text in both languages.
#
# What is true: transformers 5 no longer removes spaces before marks and English contractions, and writes nothing of it into
# tokenizer_config.json. In JavaScript an absent `clean_up_tokenization_spaces` still means true, as in transformers 4:
# " !", " .", " n't", " 's" lose their space. Text that was split into words, as in Penn Treebank and WikiText, does not
# come back. `"clean_up_tokenization_spaces": false`, written into tokenizer_config.json, makes them equal.
#
# Where it is from: src/core/Tokenizer.ts of @huggingface/tokenizers 0.2.0, beside transformers 5.23.0.
#
# It needs Python 3.11 or later, node 20 or later and npm, and downloads both packages into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check transformers==5.23.0 tokenizers==0.23.3
npm install --silent --no-audit --no-fund --prefix "$folder" @huggingface/tokenizers@0.2.0 >/dev/null
cd "$folder"
export HF_HUB_OFFLINE=1

cat >write.py <<'PYTHON'
import json

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

text = "he 's fine ! i do n't ."
words = ["<unk>", *dict.fromkeys(text.split())]
made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>").save_pretrained("saved")
tokenizer = AutoTokenizer.from_pretrained("saved")
json.dump({"ids": tokenizer(text).input_ids, "python": tokenizer.decode(tokenizer(text).input_ids)}, open("python.json", "w"))
PYTHON
venv/bin/python write.py 2>/dev/null

cat >read.mjs <<'JAVASCRIPT'
import fs from "fs";
import { Tokenizer } from "@huggingface/tokenizers";

const read = (name) => JSON.parse(fs.readFileSync(name, "utf8"));
const { ids, python } = read("python.json");
const config = read("saved/tokenizer_config.json");
const decode = (settings) => new Tokenizer(read("saved/tokenizer.json"), settings).decode(ids);
console.log(`Python: ${python}`);
console.log(`JavaScript, as saved: ${decode(config)}`);
console.log(`JavaScript, with the setting false: ${decode({ ...config, clean_up_tokenization_spaces: false })}`);
const changed = "clean_up_tokenization_spaces" in config || decode(config) !== "he's fine! i don't.";
if (changed || python !== decode({ ...config, clean_up_tokenization_spaces: false })) throw new Error("the behaviour has changed");
JAVASCRIPT
node read.mjs
