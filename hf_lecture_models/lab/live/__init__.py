# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pages on which models of the lectures run in the reader's browser, without a server."""
