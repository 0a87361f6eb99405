# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture exec transformers serve`: a request that a model refuses is answered with the reason.

transformers answers every error of `generate()` with status 500, "Internal Server Error". A ValueError, however, is
caused by the request: its prompt is too long for the model, or its number of tokens or stop string is impossible. The
answer to it is status 400 with the error's message.
"""

from typing import Any


def answer_value_errors() -> None:
    """Add a handler for ValueError to the application that `transformers serve` builds in this process."""
    from transformers.cli.serving import server

    build = server.build_server

    def build_server(*args: Any, **kwargs: Any) -> Any:
        app = build(*args, **kwargs)
        app.add_exception_handler(ValueError, _bad_request)
        return app

    server.build_server = build_server


async def _bad_request(request: Any, error: Exception) -> Any:
    from fastapi.responses import JSONResponse

    return JSONResponse({"detail": str(error)}, status_code=400)
