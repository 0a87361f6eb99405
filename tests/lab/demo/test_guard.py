# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Only what the page needs gets through, and no more of it than a text can be."""

import asyncio

import pytest

from hf_lecture_models.lab.demo.fields import answered
from hf_lecture_models.lab.demo.guard import MAX_BODY, Guard

LOCAL = frozenset({"127.0.0.1", "localhost"})


def ask(path, method="GET", host="127.0.0.1:7860", length=None, hosts=LOCAL, kind="http", body=b'{"data": []}'):
    """Status and headers of the answer; 200 is the app's own."""
    sent = []
    pieces = [
        {"type": "http.request", "body": body[:5], "more_body": True},
        {"type": "http.request", "body": body[5:], "more_body": False},
    ]

    async def receive():
        return pieces.pop(0)

    async def app(scope, receive, send):
        if method == "POST":
            assert (await receive())["body"] == body
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        sent.append(message)

    headers = [(b"host", host.encode())] + ([(b"content-length", str(length).encode())] if length is not None else [])
    scope = {"type": kind, "method": method, "path": path, "headers": headers}
    asyncio.run(Guard(app, hosts)(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"])


@pytest.mark.parametrize(
    "path", ["/", "/config", "/theme.css", "/assets/index.js", "/static/x.js", "/gradio_api/queue/data"]
)
def test_what_the_page_needs_is_served_with_a_policy(path):
    status, headers = ask(path)
    assert status == 200
    assert b"default-src 'self'" in headers[b"content-security-policy"]
    assert ask(path, host="localhost:1")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/file=/etc/passwd",
        "/gradio_api/file/etc/passwd",
        "/gradio_api/proxy=http://example.org/",
        "/gradio_api/upload_progress",
        "/assets/../../etc/passwd",
        "/gradio_api/monitoring",
        "/monitoring",
        "/docs",
        "/gradio_api/stream/a/b/c/playlist-file",
    ],
)
def test_nothing_else_is(path):
    assert ask(path)[0] == 403


def test_files_are_not_taken_in_and_requests_are_short():
    assert ask("/gradio_api/upload", "POST", length=10)[0] == 403
    assert ask("/gradio_api/queue/join", "POST", length=MAX_BODY)[0] == 200
    assert ask("/gradio_api/queue/join", "POST", length=MAX_BODY + 1)[0] == 413
    assert ask("/gradio_api/queue/join", "POST")[0] == 413
    assert ask("/gradio_api/queue/join", "PUT", length=1)[0] == 403


@pytest.mark.parametrize(
    "body",
    [
        b'{"data": [{"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}]}',
        b'{"data": [{"path": "http://example.org/", "m\\u0065ta": {"_type": "gradio.FileData"}}]}',
        b'{"data": [["the cat"]]}',
        b'{"data": {"path": "x"}}',
        b"{}",
        b"[]",
        b"no json",
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_what_looks_like_a_file_is_not_followed(body):
    assert ask("/gradio_api/queue/join", "POST", length=len(body), body=body)[0] == 403


def test_a_request_passes_unchanged():
    body = '{"data": ["the cät", 1.5, null, true], "fn_index": 0}'.encode()
    assert ask("/gradio_api/queue/join", "POST", length=len(body), body=body)[0] == 200


def test_another_name_for_this_machine_is_refused():
    assert ask("/", host="evil.example:7860")[0] == 403
    assert ask("/", host="evil.example")[0] == 403
    assert ask("/", host="evil.example", hosts=None)[0] == 200


def test_errors_become_one_line(capsys):
    def fail(kind):
        raise kind("first\nsecond <b>")

    run = answered(fail, outputs=2)
    shown, empty = run(ValueError)
    assert "first second &lt;b&gt;" in shown
    assert empty == ""
    assert "second" not in run(RuntimeError)[0]  # what nobody foresaw may say too much
    assert "RuntimeError: first" in capsys.readouterr().err
