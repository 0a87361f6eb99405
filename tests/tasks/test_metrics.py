# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Metrics are local modules of `evaluate` that need no network."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hf_lecture_models.tasks import metrics
from tests.forked_python import PATIENCE

FOLDER = Path(metrics.__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def test_accuracy_is_the_share_counted_by_hand() -> None:
    assert metrics.compute("accuracy", [0, 1, 2, 2, 0], [0, 1, 1, 2, 1]) == pytest.approx(3 / 5)


def test_correlation_is_numpys() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=20), rng.normal(size=20)
    assert metrics.compute("pearson", x.tolist(), y.tolist()) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
    assert metrics.compute("pearson", [1.0, 1.0], [0.0, 1.0]) == 0.0, "nothing varies"


@pytest.mark.slow
def test_modules_load_by_path_in_a_process_that_knows_nothing_else(tmp_path: Path) -> None:
    """`evaluate` copies the module and reads its imports with a pattern of its own, `import a, b` as one package."""
    code = (
        "import evaluate, sys\n"
        "for path in sys.argv[1:]:\n"
        "    print(evaluate.load(path, keep_in_memory=True).compute(predictions=[0, 1], references=[0, 1]))\n"
        "assert not any(name.startswith('hf_lecture_models') for name in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *(str(FOLDER / f"{name}.py") for name in NAMES)],
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_MODULES_CACHE": str(tmp_path / "modules")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == len(NAMES) >= 2
