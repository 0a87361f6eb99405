# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What one looks at: learning curves and tables of results."""
