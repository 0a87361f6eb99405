# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What one step of training reads, made from the rows of a task."""
