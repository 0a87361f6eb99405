# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every architecture of the NLP lectures as Hugging Face models. Importing the package registers all of them."""

from hf_lecture_models.version import __version__

__all__ = ["__version__"]
