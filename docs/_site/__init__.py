# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What builds the site: pages from the repository's files, equations from their text, code beside its comments."""
