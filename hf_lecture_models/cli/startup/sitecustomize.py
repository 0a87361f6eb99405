# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Make the models known in the processes that a program under `hf-lecture exec` starts; Python runs this file first.

`trl sft`, `accelerate launch` and `torchrun` start other processes that do the work. So `exec` puts this folder first
in PYTHONPATH, where Python looks for a module of this name. This package is imported right after the process imports
transformers, and not at all in a process that does not.
"""

import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class _AfterTransformers(MetaPathFinder):
    """A finder that lets the other ones find transformers, and imports this package after it."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return None for all other modules, which leaves them to the other finders."""
        if fullname != "transformers":
            return None
        others = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((found for found in others if found is not None), None)
        # The process may be another Python, in which the package is not installed.
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
    """Run the environment's own `sitecustomize`, since Python runs one only."""
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
