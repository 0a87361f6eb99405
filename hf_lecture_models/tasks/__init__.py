# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One file per task: what the training loop, the card, the terminal and the scripts must know of it."""
