# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What Python runs first in every process that a program under `hf-lecture exec` starts.

`trl sft`, `accelerate launch` and `torchrun` start others that do the work, and these must know the models too. So
`exec` puts this folder in front of PYTHONPATH, where Python looks for a module of this name. Nothing is imported until
the process imports transformers; then this package is imported right after it.
"""

import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class _AfterTransformers(MetaPathFinder):
    """Finds transformers as the other finders do, and has this package imported after it."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """None for all other modules, which leaves them to the other finders."""
        if fullname != "transformers":
            return None
        sys.meta_path.remove(self)
        try:
            spec = find_spec(fullname)
        finally:
            sys.meta_path.insert(0, self)
        # Another Python, in which the package is not installed, may be among the processes.
        if spec is not None and spec.loader is not None and find_spec("hf_lecture_models") is not None:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        run = loader.exec_module

        def exec_module(module: Any) -> None:
            sys.meta_path.remove(self)
            del loader.exec_module
            run(module)
            import_module("hf_lecture_models")

        loader.exec_module = exec_module


def _run_the_next_of_this_name() -> None:
    """Python runs one `sitecustomize` only, and this one stands before the environment's own."""
    folder = Path(__file__).parent
    sys.path[:] = [entry for entry in sys.path if Path(entry) != folder]
    ours = sys.modules.pop(__name__)
    try:
        import_module(__name__)
    except ModuleNotFoundError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, ours)


if __name__ == "sitecustomize":
    sys.meta_path.insert(0, _AfterTransformers())
    _run_the_next_of_this_name()
