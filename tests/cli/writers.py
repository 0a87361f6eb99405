# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Commands that write files, to be stopped by a full disk or by a signal."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

TRAINING = Path(__file__).resolve().parents[2] / "training"


class Writer(NamedTuple):
    """A command that writes into OUT, the extra that it needs, and what stays because the command continues from it."""

    command: str
    needs: str | None = None
    kept: str | None = None

    def arguments(self, out: str) -> list[str]:
        program, *words = self.command.replace("OUT/", out).split()
        return [program if program == "hf-lecture" else f"{TRAINING}/{program}", *self._recipes(words)]

    def _recipes(self, words: list[str]) -> list[str]:
        return [f"{TRAINING}/recipes/{word}" if word.endswith(".yaml") else word for word in words]


WRITERS = {
    "fit_ngram": Writer("fit_ngram.py ngram.yaml --output_dir OUT/new --arpa OUT/a.arpa.gz"),
    "train_causal_lm": Writer("train_causal_lm.py recurrent_tiny.yaml --output_dir OUT/new", "accelerate", "new"),
    "finetune_glue": Writer("finetune_glue.py bag_of_words_tiny.yaml --output_dir OUT/new", "evaluate", "new"),
    "quickstart": Writer("hf-lecture quickstart --tiny --output OUT/new", "accelerate"),
    "ladder": Writer("hf-lecture ladder text.txt --tiny --output OUT/new", "accelerate", "new.unfinished"),
    "convert to ARPA": Writer("hf-lecture convert trigram OUT/new.arpa"),
    "convert to packed ARPA": Writer("hf-lecture convert trigram OUT/new.arpa.gz"),
    "convert to KenLM": Writer("hf-lecture convert trigram OUT/new.klm"),
    "convert from ARPA": Writer("hf-lecture convert lm.arpa OUT/new"),
    "prune": Writer("hf-lecture prune trigram OUT/new.arpa.gz --threshold 1e-3"),
    "cut": Writer("hf-lecture cut trigram text.txt OUT/new.arpa"),
    "extend": Writer("hf-lecture extend lm.arpa zebra:cat OUT/new"),
    "count": Writer("hf-lecture count text.txt --output OUT/new.counts"),
    "count to a model": Writer("hf-lecture count text.txt --model OUT/new --smoothing add_alpha"),
    "mix": Writer("hf-lecture mix trigram lm.arpa OUT/new --weights 0.3,0.7"),
    "mix to ARPA": Writer("hf-lecture mix trigram lm.arpa OUT/new.arpa --static --held-out text.txt"),
    "convert to ONNX": Writer("hf-lecture convert lstm OUT/new.onnx", "onnxscript"),
    "neighbours": Writer("hf-lecture neighbours lstm cat -k 2 --output OUT/x.png", "matplotlib"),
    "blimp": Writer("hf-lecture blimp trigram --data pairs --output OUT/new", "matplotlib", "new"),
    "export": Writer("hf-lecture export trigram OUT/new"),
    "live": Writer("hf-lecture live trigram lstm OUT/new.html"),
    "publish": Writer("hf-lecture publish trigram me/trigram --dry-run"),
}
