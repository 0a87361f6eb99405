# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Publishing: self-contained folders whose code travels, and cards with measured results."""

from hf_lecture_models.hub.export import export

__all__ = ["export"]
