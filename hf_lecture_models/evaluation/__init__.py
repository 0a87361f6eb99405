# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Turn the logits of models into probabilities of texts, answers, entities and translations, and measure them."""
