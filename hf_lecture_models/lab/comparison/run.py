# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Run a comparison: train and measure every model, save it with its card, and load it again in a fresh process."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from hf_lecture_models.analysis.figures import save_learning_curve
from hf_lecture_models.base.traits import trait
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.hub.card import LEARNING_CURVE, write_card
from hf_lecture_models.hub.facts import collect_facts, training_record, write_facts
from hf_lecture_models.io.progress import hide_other_bars
from hf_lecture_models.lab.comparison.baselines import Baseline, Comparison
from hf_lecture_models.lab.comparison.letters import score_by_letters
from hf_lecture_models.lab.comparison.reload import reload_in_fresh_process
from hf_lecture_models.lab.comparison.report import (
    CHART,
    RESULTS,
    as_text,
    describe,
    describe_reloaded,
    headline,
    table,
    write_json,
)
from hf_lecture_models.lab.studies.comparison_chart import save_comparison
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe


def check_packages(command: str) -> None:
    """Raise an ImportError that names the extra to install, if `command` needs a missing package."""
    missing = [name for name in ("accelerate", "matplotlib") if find_spec(name) is None]
    if missing:
        raise ImportError(f"{command} needs {' and '.join(missing)}: pip install 'hf-lecture-models[train]'")


def run_comparison(comparison: Comparison, folder: Path, progress: Path | None = None) -> dict[str, Any]:
    """Train, measure, save, draw and reload every model, and return the content of `results.json`.

    Args:
        folder: an existing folder, in which each model gets its own.
        progress: a file that lists the finished models, so that an interrupted comparison continues after them.
    """
    start = time.perf_counter()
    hide_other_bars()
    results = describe(comparison)
    print(headline(results), flush=True)
    before = _read_progress(progress)
    rows = before["models"]
    for baseline in comparison.baselines[len(rows) :]:
        with _limited_threads(1 if comparison.scale is None else comparison.scale.threads):
            rows.append(_train_one(baseline, comparison, folder / baseline.name, results))
        if progress is not None:
            write_json(progress, {"models": rows, "seconds": before["seconds"] + time.perf_counter() - start})
        _remove_checkpoints(folder, rows)
    _remove_checkpoints(folder, rows)
    results["models"] = rows
    columns, cells = table(rows)
    results["note"] = comparison.note
    print(f"\n{as_text(columns, cells)}\n\n{comparison.note}", flush=True)
    drawn = [{**row, "bits_per_byte": row["test"]["bits_per_byte"]} for row in rows]
    save_comparison(drawn, folder / CHART, title=headline(results))
    print("\nthe same models, loaded again in a fresh process:", flush=True)
    folders = {baseline.name: folder / baseline.name for baseline in comparison.baselines}
    results["reloaded"] = reload_in_fresh_process(folders, comparison.prompt, comparison.pairs)
    pairs = [*comparison.pairs, *comparison.unknown_pairs]
    if comparison.unknown_pairs:
        results["letters"] = score_by_letters(comparison.corpus.train, list(chain.from_iterable(pairs)))
    print(describe_reloaded(results, pairs))
    results["seconds"] = before["seconds"] + time.perf_counter() - start
    write_json(folder / RESULTS, results)
    return results


def _read_progress(progress: Path | None) -> dict[str, Any]:
    if progress is None or not progress.exists():
        return {"models": [], "seconds": 0.0}
    found = json.loads(progress.read_text(encoding="utf-8"))
    print(f"finished before: {', '.join(row['title'] for row in found['models'])}")
    return found


def _remove_checkpoints(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Remove the checkpoints of finished models; an unfinished model is resumed from its own."""
    for row in rows:
        shutil.rmtree(folder / row["name"] / "checkpoints", ignore_errors=True)


@contextmanager
def _limited_threads(limit: int) -> Iterator[None]:
    # Small matrices gain nothing from a second thread, and on a busy machine threads that wait for each other make
    # training ten times slower.
    threads = torch.get_num_threads()
    torch.set_num_threads(min(threads, limit))
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _train_one(baseline: Baseline, comparison: Comparison, folder: Path, results: dict[str, Any]) -> dict[str, Any]:
    """Train a model into `folder`, give it a card, and return its row of the results."""
    print(f"\n{baseline.title}", flush=True)
    trained = baseline.train(comparison, folder)
    # As one stream, the way the networks were trained; an n-gram's figures are the same either way.
    parts = {"validation": comparison.corpus.validation, "test": comparison.corpus.test}
    measures = {
        part: evaluate_language_model(trained.model, comparison.tokenizer, texts, stream=True)
        for part, texts in parts.items()
    }
    record = _read_record(folder)
    row = {
        "name": baseline.name,
        "title": baseline.title,
        "parameters": trained.model.num_parameters(),
        "table_entries": trait(trained.model, "table_entries"),
        "seconds": trained.seconds,
        "tokens": trained.tokens,
        "tokens_per_second": trained.tokens / trained.seconds,
        "threads": torch.get_num_threads(),
        "curve": _curve(record, trained.seconds),
        **measures,
    }
    facts = collect_facts(
        trained.model,
        comparison.tokenizer,
        measures["test"],
        name=f"{baseline.title}, on {comparison.data['name']}",
        data={**comparison.data, "source": results["text"]},
        task=CausalLM().describe(trained.model, CausalLMRecipe()),
        recipe=trained.recipe,
        training=training_record(record) or {key: row[key] for key in ("tokens", "seconds", "tokens_per_second")},
        command=results["command"],
        licence=comparison.licence,
    )
    _write_card(folder, facts, record)
    (folder / "run.lock").unlink(missing_ok=True)
    return row


def _write_card(folder: Path, facts: dict[str, Any], record: dict[str, Any]) -> None:
    """Write the facts of a model, its learning curve if it has one, and its card."""
    write_facts(folder, facts)
    if record:
        save_learning_curve(record["history"], folder / LEARNING_CURVE)
    write_card(folder, facts)


def _read_record(folder: Path) -> dict[str, Any]:
    path = folder / "training.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}  # {} for an n-gram


def _curve(record: dict[str, Any], seconds: float) -> list[tuple[float, float]]:
    """Return pairs of training seconds and validation bits per byte, taking all steps for equally long."""
    measured = [row for row in record.get("history", ()) if "validation_bits_per_byte" in row]
    return [(seconds * row["step"] / record["step"], row["validation_bits_per_byte"]) for row in measured]
