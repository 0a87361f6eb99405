# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A page for the browser: a tab for each thing that the loaded models do."""
