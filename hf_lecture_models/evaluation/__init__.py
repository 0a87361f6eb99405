# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Probabilities, perplexity and surprisal of texts under language models, and rankings of sentences."""
