# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Many language models trained on one text with one tokenizer, and measured alike: `quickstart` and `ladder`."""
