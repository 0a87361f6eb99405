# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One file per head: the forward pass, the loss and the checks that all models with that head share."""
