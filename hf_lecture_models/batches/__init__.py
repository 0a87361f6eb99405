# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Make the batches of a training step from the rows of a task."""
