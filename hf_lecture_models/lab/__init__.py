# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What stands on the house: claims, studies, comparison, demo and exercises. Nothing below imports it."""
