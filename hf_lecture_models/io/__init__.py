# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What everything else stands on: files and folders written whole, and registration with transformers."""
