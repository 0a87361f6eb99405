# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The claims ledger: what the lectures assert, tested. docs/claims.md has all verdicts."""
