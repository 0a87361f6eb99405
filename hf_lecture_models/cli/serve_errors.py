# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture exec transformers serve`: a request that a model refuses is answered with the reason.

transformers answers 500, "Internal Server Error", to every error of `generate()`. A ValueError is the request's fault:
the prompt is longer than the model reads, or a number of tokens or a stop string is impossible. It becomes a 400 with
its message.
"""

from typing import Any


def answer_value_errors() -> None:
    """Give the application that `transformers serve` builds in this process a handler for ValueError."""
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
