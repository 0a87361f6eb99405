# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Kinds of positions × pre-/post-LN, and a sweep of learning rates: final losses, and the runs that diverge.

    OMP_NUM_THREADS=1 python -m benchmarks.position_sweep                       # 18 runs of about 2 CPU minutes
    python -m benchmarks.position_sweep --only 'alibi-*' 'none-*'               # those whose names match
    python -m benchmarks.position_sweep --minutes 0.1 --folder runs/try         # another length: another folder
    python -m benchmarks.position_sweep --steps 733 --folder runs/again         # as many steps as another folder has

Every run is the same small model (WikiText-2 in byte-pair encoding), the same batches and the same number of steps:
as many as sinusoidal positions with pre-LN make in the given CPU minutes, timed once per folder. A run ends with its
validation loss, as one stream. It has diverged if a number became infinite or NaN, or if at the end it predicts no
better than the frequencies of the tokens do. Each run's result is written when it ends, and a finished run is not run
again; the models stay in the folder, for `benchmarks.extrapolation`.
"""

import json
import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer

from benchmarks.common import ROOT, new_parser, read_options, wikitext, write_results
from hf_lecture_models import SelfAttentionConfig, SelfAttentionForCausalLM
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe, train_causal_lm
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.corpus import encode_corpus

FOLDER = ROOT / "runs" / "position_sweep"
KINDS = ("sinusoidal", "learned", "relative", "alibi", "none")
NORMS = ("pre", "post")
RATE = 1e-3
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
LENGTH, BATCH, VOCABULARY = 128, 16, 4096
SHAPE = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "dropout": 0.0}
VALIDATION_LINES = 600


@dataclass(frozen=True)
class Run:
    """One model to train."""

    kind: str
    norm: str
    rate: float

    @property
    def name(self) -> str:
        """The name of its folder, such as alibi-pre-0.001."""
        return f"{self.kind}-{self.norm}-{self.rate:g}"


def all_runs() -> list[Run]:
    """Each kind and norm at one rate, and sinusoidal positions at every rate; no run twice."""
    grid = [Run(kind, norm, RATE) for norm in NORMS for kind in KINDS]
    return grid + [Run("sinusoidal", norm, rate) for norm in NORMS for rate in RATES if rate != RATE]


def make_model(run: Run, tokenizer: Any) -> SelfAttentionForCausalLM:
    """Return a model with fresh weights, which are the same for all runs where the kinds agree."""
    torch.manual_seed(0)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    config = SelfAttentionConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=LENGTH,
        position_encoding=run.kind,
        norm_position=run.norm,
        **SHAPE,
        **ids,
    )
    return SelfAttentionForCausalLM(config)


def make_recipe(run: Run, steps: int) -> CausalLMRecipe:
    """The trainer's settings: AdamW, a short warm-up, then a line down to zero; measured at the end."""
    return CausalLMRecipe(
        layout="blocks",
        sequence_length=LENGTH,
        batch_size=BATCH,
        max_steps=steps,
        mixed_precision="bf16",
        learning_rate=run.rate,
        schedule="linear",
        warmup_steps=min(20, steps // 10),
        clip_norm=1.0,
        evaluate_every=steps,
        log_every=max(1, steps // 50),
    )


def steps_in(minutes: float, tokenizer: Any) -> int:
    """Return the number of steps that fit into so many CPU minutes, by the median of twelve."""
    model = make_model(Run("sinusoidal", "pre", RATE), tokenizer).train()
    optimizer, seconds = torch.optim.AdamW(model.parameters(), fused=True), []
    for _ in range(15):
        ids = torch.randint(VOCABULARY // 2, (BATCH, LENGTH))
        begin = time.process_time()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(ids, labels=ids, use_cache=False, logits_to_keep=1).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.process_time() - begin)
    # The first steps warm up.
    return max(10, round(60 * minutes / statistics.median(seconds[3:])))


def settle(folder: Path, minutes: float, texts: list[str], steps: int | None = None) -> tuple[Any, dict[str, Any]]:
    """The folder's tokenizer and settings, made at the first call; `steps` None: as many as fit into the minutes.

    Raises:
        ValueError: the folder was made with other minutes or steps.
    """
    record = folder / "settings.json"
    if not record.is_file():
        tokenizer = BpeTokenizer.train(texts, vocab_size=VOCABULARY, progress=False)
        tokenizer.save_pretrained(folder / "tokenizer")
        settings = {"minutes": minutes, "steps": steps or steps_in(minutes, tokenizer)}
        record.write_text(json.dumps(settings) + "\n", encoding="utf-8")
    settings = json.loads(record.read_text(encoding="utf-8"))
    if settings["minutes"] != minutes:
        raise ValueError(
            f"{folder} holds runs of {settings['minutes']} minutes, not {minutes}; give another --folder, or delete it"
        )
    if steps not in (None, settings["steps"]):
        raise ValueError(f"{folder} holds runs of {settings['steps']} steps, not {steps}; give another --folder")
    return AutoTokenizer.from_pretrained(folder / "tokenizer"), settings


def unigram_loss(tokenizer: Any, texts: list[str], held_out: list[str]) -> float:
    """Nats per token of the frequencies of tokens, each counted once more than it occurs."""
    end = tokenizer.eos_token_id

    def counts(lines: list[str]) -> np.ndarray:
        ids = np.concatenate([*encode_corpus(tokenizer, lines), np.full(len(lines), end)])
        return np.bincount(ids, minlength=len(tokenizer))

    smoothed = counts(texts) + 1
    wanted = counts(held_out)
    return float(-(wanted * np.log(smoothed / smoothed.sum())).sum() / wanted.sum())


def train_one(
    run: Run, folder: Path, tokenizer: Any, steps: int, texts: list[str], held_out: list[str]
) -> dict[str, Any]:
    """Train and measure; loss None where a number became infinite or NaN."""
    begin = time.process_time()
    result: dict[str, Any] = {"kind": run.kind, "norm": run.norm, "learning_rate": run.rate, "steps": steps}
    try:
        trained = train_causal_lm(
            make_model(run, tokenizer),
            tokenizer,
            texts,
            held_out,
            folder / run.name,
            make_recipe(run, steps),
            resume=True,
            quiet=True,
        )
    except FloatingPointError as error:
        return result | {"validation_loss": None, "stopped_by": str(error)}
    result |= {"validation_loss": math.log(trained.best_metric), "tokens": trained.items}
    curve = [[row["step"], round(row["loss"], 4)] for row in trained.history if "loss" in row]
    return result | {"cpu_seconds": round(time.process_time() - begin, 1), "training_loss": curve}


def finished(folder: Path) -> Iterator[dict[str, Any]]:
    """The results of all runs that have ended, in the order of the plan."""
    for run in all_runs():
        path = folder / run.name / "result.json"
        if path.is_file():
            yield json.loads(path.read_text(encoding="utf-8"))


def print_table(rows: list[dict[str, Any]], unigram: float) -> None:
    print(f"\nvalidation loss, nats per token (token frequencies alone: {unigram:.3f})")
    for row in rows:
        loss = "not finite" if row["validation_loss"] is None else f"{row['validation_loss']:.3f}"
        mark = "  DIVERGED" if row["diverged"] else ""
        print(f"{row['kind']:<12}{row['norm']:<6}{row['learning_rate']:<8g}{loss}{mark}")
    for norm in NORMS:
        own = [row for row in rows if row["norm"] == norm]
        print(f"{norm}-LN: {sum(row['diverged'] for row in own)} of {len(own)} runs diverged")


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="CPU minutes of a run, about")
    parser.add_argument("--steps", type=int, help="of a run, instead of as many as fit into the minutes")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of tokenizer, models and results of single runs")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="NAME", help="names, or patterns of them")
    arguments = read_options(parser)
    runs = [run for run in all_runs() if any(fnmatch(run.name, pattern) for pattern in arguments.only)]
    if not runs:
        parser.error(f"no run matches {' '.join(arguments.only)}; there are {' '.join(run.name for run in all_runs())}")
    texts = wikitext("train")
    held_out = wikitext("valid")[:VALIDATION_LINES]
    tokenizer, settings = settle(arguments.folder, arguments.minutes, texts, arguments.steps)
    unigram = unigram_loss(tokenizer, texts, held_out)
    print(f"{settings['steps']} steps of {BATCH} x {LENGTH} tokens", flush=True)
    for run in runs:
        path = arguments.folder / run.name / "result.json"
        if path.is_file():
            print(f"{run.name}: finished before", flush=True)
            continue
        result = train_one(run, arguments.folder, tokenizer, settings["steps"], texts, held_out)
        loss = result["validation_loss"]
        result["diverged"] = loss is None or loss >= unigram
        path.write_text(json.dumps(result) + "\n", encoding="utf-8")
        print(f"{run.name}: {'not finite' if loss is None else f'{loss:.3f}'}", flush=True)
        rows = list(finished(arguments.folder))
        fixed = {"shape": SHAPE, "sequence_length": LENGTH, "batch_size": BATCH, "vocabulary": len(tokenizer)}
        write_results("position_sweep", settings | fixed | {"unigram_loss": unigram, "runs": rows})
    print_table(list(finished(arguments.folder)), unigram)


if __name__ == "__main__":
    main()
