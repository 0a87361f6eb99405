# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What every model shares and transformers must know: configuration, saving, scoring, registration."""
