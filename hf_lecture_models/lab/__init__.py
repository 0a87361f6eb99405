# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Claims, studies, comparison, demo and exercises, and their verbs. No other folder imports them."""
