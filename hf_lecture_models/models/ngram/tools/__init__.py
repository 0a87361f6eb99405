# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Tools for finished n-gram models: pruning, mixing, cutting to a vocabulary, adding words."""
