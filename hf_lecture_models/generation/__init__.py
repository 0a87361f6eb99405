# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What stands beside `generate()`: a second model's opinion, and the next words for one who types."""
