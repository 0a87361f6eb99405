# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Measuring language models: probabilities of texts, perplexity, bits per byte."""
