# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Complete a module of an optional package, which is slow to import, right after a program has imported it."""

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any


def after_import(name: str, complete: Callable[[Any], None]) -> None:
    """Call `complete` with the module `name`: now if it is imported already, else after its import."""
    if name in sys.modules:
        complete(sys.modules[name])
    else:
        sys.meta_path.insert(0, _After(name, complete))


class _After(MetaPathFinder):
    """Finds a module as the other finders do, and completes it once it is loaded."""

    def __init__(self, name: str, complete: Callable[[Any], None]) -> None:
        self.name, self.complete = name, complete

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return None for all other modules, which leaves them to the other finders."""
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            load = loader.exec_module

            def exec_module(module: Any) -> None:
                load(module)
                self.complete(module)

            loader.exec_module = exec_module
        return spec
