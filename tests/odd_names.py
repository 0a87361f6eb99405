# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Names of files and folders that some library reads as a pattern, a column, the end of a text, or two names."""

ODD_NAMES = ("order=3", "a*", "a?b", "t[1]", "a b", "it's", 'say "so"', "new\nline")

NEIGHBOURS = ("ab", "axb", "t1", "order")
"""What a pattern among them matches."""
