# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Publishing: self-contained folders whose code travels, cards with measured results, and the upload to the Hub."""

from hf_lecture_models.hub.export import export
from hf_lecture_models.hub.facts import record_test
from hf_lecture_models.hub.publish import Publication, publish
from hf_lecture_models.io.runs import AFTER_TEST

AFTER_TEST.append(record_test)

__all__ = ["Publication", "export", "publish"]
