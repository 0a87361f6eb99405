#!/usr/bin/env bash
# pyctcdecode 0.5.0: if a beam that ends in a space survives, all beams of its text pay for an unknown word.
#
# What one would guess: a space at the end of the sound changes nothing, as the text is the same; at most the beams that end
# in it count less. In a frame of silence, a CTC model gives the blank nearly everything and the space a little.
#
# What is true: at the end, the word that has just begun is scored, and after a space this is the word "". KenLM takes it for
# <unk>, and `unk_score_offset` (-10, log10) is added: times alpha and ln 10, 11.5 nats and more. Beams of equal text are then
# merged, and the merged beam keeps the words of the one merged last, which is the least probable: if that one ended in a
# space, the whole text pays. So the text depends on whether the beam with the space passed the thresholds `token_min_logp`
# (-5, which is p = 0.0067) and `beam_prune_logp` (-10). Below, the last frame has a space of 0.6 % and then of 0.7 %. With
# 0.7 %, a text wins that is a thousand times less probable, since its own beam with a space was pruned.
# What helps: a subclass of `LanguageModel` whose `score` gives "" no more than the end of the sentence.
#
# Where it is from: pyctcdecode/decoder.py, `_decode_logits` ("final lm scoring") and `_merge_beams`, whose later branch
# stores the later beam's `text` and `next_word`; language_model.py, `score`.
#
# It needs Python 3.9 to 3.12 and a C++ compiler, and downloads pyctcdecode, kenlm and numpy into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check pyctcdecode==0.5.0 kenlm==0.3.0 numpy==1.26.4

cat >"$folder/try.py" <<'PYTHON'
import logging
import pathlib
import sys

import kenlm
import numpy as np
from pyctcdecode import Alphabet, BeamSearchDecoderCTC
from pyctcdecode.language_model import LanguageModel

logging.disable(logging.WARNING)
path = pathlib.Path(sys.argv[1], "lm.arpa")
path.write_text(
    "\\data\\\nngram 1=6\nngram 2=2\n\n\\1-grams:\n-99\t<s>\t0\n-0.5\t</s>\t0\n-2\t<unk>\t0\n-0.5\tbig\t0\n-0.5\tday\t0\n"
    "-3\tdab\t0\n\n\\2-grams:\n-0.1\tbig day\n-3\tbig dab\n\n\\end\\\n"
)
labels = ["", " ", *"abdgiy"]


class EmptyWordsAreFree(LanguageModel):
    def score(self, prev_state, word, is_last_word=False):
        if word:
            return super().score(prev_state, word, is_last_word)
        end = self._get_raw_end_score(prev_state) if is_last_word else 0.0
        return self.alpha * end * np.log(10), prev_state


for kind in (LanguageModel, EmptyWordsAreFree):
    language_model = kind(kenlm.Model(str(path)), ["big", "day", "dab"])
    decoder = BeamSearchDecoderCTC(Alphabet.build_alphabet(labels), language_model)
    for space in (0.006, 0.007):
        frames = [{label: 1} for label in "big da"] + [{"y": 0.97, "b": 0.03}, {"": 1 - space, " ": space}]
        log_probs = np.log([[max(frame.get(label, 0), 1e-12) for label in labels] for frame in frames])
        beams = decoder.decode_beams(log_probs)
        shown = ", ".join(f"{beam[0]!r} {beam[-1]:.1f}" for beam in beams[:2])
        print(f"{kind.__name__}, a last space of p = {space}: {shown}")
PYTHON

seen="$("$folder/venv/bin/python" "$folder/try.py" "$folder" 2>/dev/null)"
expected="LanguageModel, a last space of p = 0.006: 'big day' 1.7, 'big dab' -5.1
LanguageModel, a last space of p = 0.007: 'big dab' -5.1, 'big day' -10.6
EmptyWordsAreFree, a last space of p = 0.006: 'big day' 1.7, 'big dab' -5.1
EmptyWordsAreFree, a last space of p = 0.007: 'big day' 1.7, 'big dab' -5.1"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
