# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A model from a file name: the defaults of `hf-lecture train TASK --train_files FILE` on small real sets.

    OMP_NUM_THREADS=1 python -m benchmarks.own_data [NAME ...] [--peers PYTHON] [--output FOLDER]

NAME is one of `CASES`; without any, all are measured, and the results of the others stay in the record. Each model is
trained by the command as a user types it, with one seed after the other; the command gets the training file alone and
holds out validation rows by itself. PYTHON is the interpreter of an environment that has the other programs
(`benchmarks/own_data_peers.py` says how to install them); without it they are not measured.

CPU seconds are those of the whole process: the start of the interpreter, imports, training, and the prediction of the
test rows. What an earlier run of the same commit measured is not measured again.
"""

import csv
import json
import os
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.common import (
    ROOT,
    add_output,
    commit,
    mean_and_error,
    new_parser,
    read_options,
    read_results,
    write_results,
)
from benchmarks.own_data_peers import PROGRAMS, folder_bytes
from benchmarks.own_data_sets import CLASSES, KEPT_BACK, Parts, Row, write_csv
from benchmarks.own_data_tags import (
    ENTITIES,
    KEPT_BACK_TAGS,
    TAGS,
    entity_measures,
    most_frequent_tags,
    tag_measures,
    write_json,
    written_tags,
)

SEEDS = (0, 1, 2)
OURS = "hf-lecture"


def most_frequent_class(train: list[Row], tests: list[Row]) -> list[str]:
    """Return the most frequent class of the training rows for each test row."""
    most, _ = Counter(str(row["label"]) for row in train).most_common(1)[0]
    return [most] * len(tests)


@dataclass(frozen=True)
class Case:
    """A set, and how programs learn and are measured on it.

    Attributes:
        title: its name in tables.
        script: the name of the task for `hf-lecture train`.
        rows: returns the rows to train and to test on.
        write: writes rows to a file, which gets the name train or test and `suffix`.
        predictions: returns the test rows' predictions from the folder of a trained model.
        measure: returns the measures of predictions, by their names; the first one is compared.
        peers: names of the other programs.
        options: further options of the command.
        kept_back: True if nothing was chosen on it.
        peer_script: the file in this folder that runs them.
        trivial: returns the predictions of the trivial baseline from the training rows and the test rows.
        seeds: the seeds of the command.
    """

    title: str
    script: str
    rows: Callable[[], Parts]
    predictions: Callable[[Path], Sequence[Any]]
    measure: Callable[[Sequence[Any], list[Row]], dict[str, float]]
    peers: tuple[str, ...] = ()
    write: Callable[[list[Row], Path], None] = write_csv
    suffix: str = ".csv"
    options: tuple[str, ...] = ()
    kept_back: bool = False
    peer_script: str = "own_data_peers.py"
    trivial: Callable[[list[Row], list[Row]], Sequence[Any]] = most_frequent_class
    seeds: tuple[int, ...] = SEEDS


def written_classes(folder: Path) -> list[str]:
    """Return the classes that the command predicted for `--predict_files`."""
    with (folder / "predictions" / "predictions.tsv").open(encoding="utf-8", newline="") as file:
        return [row["prediction"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def class_measures(predictions: Sequence[str], rows: list[Row]) -> dict[str, float]:
    """Return accuracy and Matthews correlation."""
    from sklearn.metrics import matthews_corrcoef

    labels = [str(row["label"]) for row in rows]
    right = sum(one == label for one, label in zip(predictions, labels, strict=True))
    return {"accuracy": right / len(labels), "matthews": float(matthews_corrcoef(labels, list(predictions)))}


CASES: dict[str, Case] = {
    name: Case(
        title,
        "finetune_text_classification",
        rows,
        written_classes,
        class_measures,
        tuple(PROGRAMS),
        kept_back=name in KEPT_BACK,
    )
    for name, (title, rows) in CLASSES.items()
} | {
    name: Case(
        title,
        "finetune_tagging",
        rows,
        written_tags,
        measures,
        (peer,),
        write_json,
        ".jsonl",
        kept_back=name in KEPT_BACK_TAGS,
        peer_script="own_data_tag_peers.py",
        trivial=most_frequent_tags,
        options=("--minutes", "3"),
        seeds=SEEDS[:1],
    )
    for sets, measures, peer in ((TAGS, tag_measures, "tagger"), (ENTITIES, entity_measures, "ner"))
    for name, (title, rows) in sets.items()
}


def timed_command(command: Sequence[str], log: Path) -> tuple[str, float]:
    """Run a command with one thread; return its output and its CPU seconds.

    Raises:
        RuntimeError: it failed; what it wrote is in the file `log`.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=log.parent, env=environment, capture_output=True, text=True, encoding="utf-8")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    log.write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {log}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_ours(case: Case, folder: Path, seed: int, tests: list[Row]) -> dict[str, Any]:
    """Train by the command with the defaults; return measures, CPU seconds and bytes."""
    model = folder / f"model-{seed}"
    shutil.rmtree(model, ignore_errors=True)
    files = [f"{part}{case.suffix}" for part in ("train", "test")]
    script = str(ROOT / "training" / f"{case.script}.py")
    options = ["--train_files", files[0], "--predict_files", files[1], "--output_dir", model.name, *case.options]
    _, seconds = timed_command([sys.executable, script, *options, "--seed", str(seed)], folder / f"{model.name}.log")
    facts = json.loads((model / "training.json").read_text(encoding="utf-8"))
    return {
        **case.measure(case.predictions(model), tests),
        "cpu_seconds": round(seconds, 1),
        "bytes": model_bytes(model),
        "validation": facts["best_metric"],
        "epochs": facts["history"][-1]["epoch"],
        "seconds": round(facts["seconds"], 1),
    }


def model_bytes(folder: Path) -> int:
    """Return the size of weights, configuration and tokenizer, without checkpoints and records of the training."""
    names = ("*.safetensors", "config.json", "tokenizer*.json", "task.json")
    return sum(folder_bytes(path) for name in names for path in folder.glob(name))


def run_peer(case: Case, name: str, folder: Path, python: str, tests: list[Row]) -> dict[str, Any]:
    """Let another program learn; return measures, CPU seconds and bytes."""
    script = str(ROOT / "benchmarks" / case.peer_script)
    output, seconds = timed_command([python, script, name, str(folder)], folder / f"{name}.log")
    found = json.loads(output.splitlines()[-1])
    measured = case.measure(found["predictions"], tests)
    return {**measured, "cpu_seconds": round(seconds, 1), "bytes": found["bytes"]}


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the means over the runs, the standard error of the first measure, and the runs."""
    means: dict[str, Any] = {key: sum(run[key] for run in runs) / len(runs) for key in runs[0]}
    if len(runs) > 1:
        means["standard_error"] = mean_and_error([next(iter(run.values())) for run in runs])["standard_error"]
    return {**means, "runs": runs}


def measure_case(name: str, folder: Path, python: str) -> dict[str, Any]:
    """Measure all programs on one set; those that an earlier run of the same commit measured are read."""
    case, own = CASES[name], folder / name
    own.mkdir(parents=True, exist_ok=True)
    train, tests = case.rows()
    for part, rows in (("train", train), ("test", tests)):
        case.write(rows, own / f"{part}{case.suffix}")
    programs = {
        OURS: summary([remembered(own, f"seed-{seed}", run_ours, case, own, seed, tests) for seed in case.seeds])
    }
    for peer in case.peers if python else ():
        programs[peer] = summary([remembered(own, peer, run_peer, case, peer, own, python, tests)])
    return {
        "title": case.title,
        "script": case.script,
        "kept_back": case.kept_back,
        "rows": {"train": len(train), "test": len(tests)},
        "classes": len(set(chain.from_iterable(row.get("tags") or [str(row["label"])] for row in train))),
        "trivial": case.measure(case.trivial(train, tests), tests),
        "programs": programs,
    }


def remembered(folder: Path, name: str, run: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Return what `run` returns, or what an earlier run of the same commit wrote to a file of the folder."""
    path = folder / f"found-{name}.json"
    if path.is_file() and (found := json.loads(path.read_text(encoding="utf-8")))["commit"] == commit():
        return found["result"]
    result = run(*arguments)
    path.write_text(json.dumps({"commit": commit(), "result": result}), encoding="utf-8")
    return result


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(CASES)}")
    parser.add_argument("--peers", default="", metavar="PYTHON", help="the interpreter of the other programs")
    add_output(parser, "own_data", "the files and the models")
    options = read_options(parser)
    if unknown := [name for name in options.names if name not in CASES]:
        parser.error(f"there is no set {unknown[0]}; there are {', '.join(CASES)}")
    cases = read_results("own_data", {"cases": {}}, options.kept)["cases"]
    for name in options.names or CASES:
        cases[name] = measure_case(name, options.output.absolute(), options.peers)
        first = next(iter(cases[name]["trivial"]))
        scores = {program: round(100 * one[first], 1) for program, one in cases[name]["programs"].items()}
        print(f"{name}: {first} {scores}, trivial {100 * cases[name]['trivial'][first]:.1f}", flush=True)
    write_results("own_data", {"seeds": SEEDS, "cases": cases}, options.kept)


if __name__ == "__main__":
    main()
