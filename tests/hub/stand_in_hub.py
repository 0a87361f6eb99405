# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A stand-in for the Hub on this machine: what huggingface_hub asks for when it uploads a model and reads it back.

Small files come inside the commit, large ones (weights, pictures) by git-lfs' protocol from a second server, as on the
Hub, where no token may arrive. `fail` makes a call fail: with an HTTP status, "drop" for a connection that breaks off,
or "pause" for one that hangs in the middle of the body.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

LARGE = (".safetensors", ".png")


@dataclass
class Commit:
    """The files of a commit, and its name."""

    sha: str
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass
class Repository:
    """Branches, each the list of its commits, oldest first."""

    private: bool
    branches: dict[str, list[Commit]]

    def at(self, revision: str) -> Commit | None:
        if revision in self.branches:
            return self.branches[revision][-1]
        commits = (commit for branch in self.branches.values() for commit in branch)
        return next((commit for commit in commits if commit.sha == revision), None)

    def add(self, branch: str, files: dict[str, bytes]) -> Commit:
        sha = hashlib.sha1(f"{branch}{sum(map(len, self.branches.values()))}".encode()).hexdigest()
        self.branches.setdefault(branch, []).append(Commit(sha, files))
        return self.branches[branch][-1]


@dataclass
class Request:
    """What arrived."""

    server: str
    method: str
    path: str
    authorization: str | None
    size: int


class StandInHub:
    """Two servers and what they hold."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.repositories: dict[str, Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.requests: list[Request] = []
        self.collections: dict[str, dict[str, Any]] = {}
        self.fail: dict[str, int | str] = {}
        self.message = "the server's reason"
        self.paused, self.resumed = threading.Event(), threading.Event()
        self.hub, self.storage = self._server("hub"), self._server("storage")

    def _server(self, name: str) -> ThreadingHTTPServer:
        handler = type("Handler", (_Handler,), {"world": self, "server_name": name})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.hub.server_port}"

    def commits(self, repo: str, branch: str = "main") -> list[Commit]:
        """Without the first, empty one."""
        return self.repositories[repo].branches[branch][1:]

    def sent(self) -> dict[str, int]:
        """Bytes of bodies so far: "commit" and "storage"."""
        commit = sum(r.size for r in self.requests if "/commit/" in r.path)
        return {"commit": commit, "storage": sum(r.size for r in self.requests if r.server == "storage")}

    def close(self) -> None:
        self.resumed.set()
        for server in (self.hub, self.storage):
            server.shutdown()
            server.server_close()


@contextmanager
def stand_in_hub(token: str) -> Iterator[StandInHub]:
    hub = StandInHub(token)
    try:
        yield hub
    finally:
        hub.close()


ROUTES = {
    ("POST", r"/api/repos/create"): "create",
    ("POST", r"/api/validate-yaml"): "validate",
    ("POST", r"/api/collections"): "collection",
    ("GET", r"/api/collections/([^/]+/[^/]+)"): "collected",
    ("POST", r"/api/collections/([^/]+/[^/]+)/items"): "item",
    ("POST", r"/api/models/([^/]+/[^/]+)/branch/([^/]+)"): "branch",
    ("POST", r"/api/models/([^/]+/[^/]+)/preupload/([^/]+)"): "preupload",
    ("POST", r"/([^/]+/[^/]+)\.git/info/lfs/objects/batch"): "batch",
    ("POST", r"/api/models/([^/]+/[^/]+)/commit/([^/]+)"): "commit",
    ("PUT", r"/objects/(\w+)"): "put",
    ("GET", r"/api/models/([^/]+/[^/]+)"): "info",
    ("GET", r"/api/models/([^/]+/[^/]+)/revision/([^/]+)"): "info",
    ("GET", r"/api/models/([^/]+/[^/]+)/tree/([^/]+)"): "tree",
    ("GET", r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)"): "resolve",
    ("HEAD", r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)"): "resolve",
}


class _Handler(BaseHTTPRequestHandler):
    world: StandInHub
    server_name: str
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body of each answer waits 40 ms behind its headers

    def log_message(self, *_: Any) -> None:
        pass

    def _serve(self) -> None:
        path = unquote(urlsplit(self.path).path)
        authorization = self.headers.get("Authorization")
        size = int(self.headers.get("Content-Length") or 0)
        routes = ((name, re.fullmatch(pattern, path)) for (m, pattern), name in ROUTES.items() if m == self.command)
        name, match = next(((name, match) for name, match in routes if match), ("nothing", None))
        failure = self.world.fail.get(name)
        if failure == "pause":  # half of the body is read, and the client waits
            self.rfile.read(1000)
            self.world.paused.set()
            self.world.resumed.wait()
        if failure == "drop":
            self.rfile.read(min(size, 1000))
            self.close_connection = True
            return self.connection.close()
        body = self._body(size)
        self.world.requests.append(Request(self.server_name, self.command, path, authorization, len(body)))
        if isinstance(failure, int):
            return self._answer(failure, {"error": f"{self.world.message} ({authorization})"})
        if match is not None and self.server_name == "hub" and not self._may(name, match, authorization):
            return self._answer(401, {"error": "Invalid username or password."})
        return getattr(self, f"_{name}")(body, *(match.groups() if match else ()))

    do_GET = do_POST = do_PUT = do_HEAD = _serve

    def _body(self, size: int) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(size)
        body = b""
        while length := int(self.rfile.readline(), 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _may(self, name: str, match: re.Match[str], authorization: str | None) -> bool:
        if authorization == f"Bearer {self.world.token}":
            return True
        repository = self.world.repositories.get(match[1]) if match.groups() else None
        return name in ("info", "tree", "resolve") and repository is not None and not repository.private

    def _answer(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for key, content in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(key, content)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _found(self, repo: str, revision: str) -> Commit | None:
        repository = self.world.repositories.get(repo)
        commit = repository and repository.at(revision)
        if not repository:
            self._answer(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
        elif not commit:
            self._answer(404, {"error": f"Invalid rev id: {revision}"}, {"X-Error-Code": "RevisionNotFound"})
        return commit or None

    def _create(self, body: bytes) -> None:
        asked = json.loads(body)
        repo = f"{asked['organization']}/{asked['name']}"
        url = {"url": f"{self.world.url}/{repo}"}
        if repo in self.world.repositories:
            return self._answer(409, url | {"error": "You already created this model repo"})
        repository = Repository(asked.get("visibility") == "private", {})
        repository.add("main", {".gitattributes": b"*.safetensors filter=lfs\n"})
        self.world.repositories[repo] = repository
        return self._answer(200, url)

    def _branch(self, body: bytes, repo: str, branch: str) -> None:
        branches = self.world.repositories[repo].branches
        if branch in branches:
            return self._answer(409, {"error": "Reference already exists"})
        branches[branch] = list(branches["main"])
        return self._answer(200, {})

    def _nothing(self, body: bytes) -> None:
        self._answer(404, {"error": "Not found"}, {"X-Error-Code": "EntryNotFound"})

    def _validate(self, body: bytes) -> None:
        self._answer(200, {"errors": [], "warnings": []})

    def _preupload(self, body: bytes, repo: str, revision: str) -> None:
        commit = self._found(repo, revision)
        if commit:
            names = [file["path"] for file in json.loads(body)["files"]]
            files = [
                {
                    "path": name,
                    "uploadMode": "lfs" if name.endswith(LARGE) else "regular",
                    "shouldIgnore": False,
                    "oid": _entry(name, commit.files[name])["id"] if name in commit.files else None,
                }
                for name in names
            ]
            self._answer(200, {"files": files})

    def _batch(self, body: bytes, repo: str) -> None:
        storage = f"http://127.0.0.1:{self.world.storage.server_port}"
        objects = [
            entry
            if entry["oid"] in self.world.objects
            else {**entry, "actions": {"upload": {"href": f"{storage}/objects/{entry['oid']}"}}}
            for entry in json.loads(body)["objects"]
        ]
        self._answer(200, {"transfer": "basic", "objects": objects})

    def _put(self, body: bytes, oid: str) -> None:
        right = hashlib.sha256(body).hexdigest() == oid
        if right:
            self.world.objects[oid] = body
        self._answer(200 if right else 400, {})

    def _commit(self, body: bytes, repo: str, branch: str) -> None:
        commit = self._found(repo, branch)
        if commit is None:
            return None
        lines = [json.loads(line) for line in body.splitlines()]
        parent = lines[0]["value"].get("parentCommit")
        if parent not in (None, commit.sha):
            return self._answer(412, {"error": "A commit has happened since. Please refresh and try again."})
        files = dict(commit.files)
        for line in lines[1:]:
            path = line["value"]["path"]
            if line["key"] == "file":
                files[path] = base64.b64decode(line["value"]["content"])
            elif line["key"] == "lfsFile":
                files[path] = self.world.objects[line["value"]["oid"]]
            elif line["key"] == "deletedFile":
                del files[path]
        new = self.world.repositories[repo].add(branch, files)
        return self._answer(200, {"commitUrl": f"{self.world.url}/{repo}/commit/{new.sha}", "commitOid": new.sha})

    def _collection(self, body: bytes) -> None:
        asked = json.loads(body)
        slug = f"{asked['namespace']}/{asked['title'].lower().replace(' ', '-')}-0123"
        if slug in self.world.collections:
            return self._answer(409, {"error": "it exists", "slug": slug})
        self.world.collections[slug] = {
            **{"slug": slug, "title": asked["title"], "owner": {"name": asked["namespace"]}, "items": []},
            **{"private": asked["private"], "lastUpdated": "2026-01-01T00:00:00.000Z", "upvotes": 0, "position": 0},
            **{"theme": "indigo", "description": None},
        }
        return self._collected(b"", slug)

    def _collected(self, body: bytes, slug: str) -> None:
        self._answer(200, self.world.collections[slug])

    def _item(self, body: bytes, slug: str) -> None:
        item = json.loads(body)["item"]
        items = self.world.collections[slug]["items"]
        items.append({"_id": str(len(items)), "position": len(items), **item})
        self._collected(b"", slug)

    def _info(self, body: bytes, repo: str, revision: str = "main") -> None:
        commit = self._found(repo, revision)
        if commit:
            siblings = [{"rfilename": name} for name in commit.files]
            private = self.world.repositories[repo].private
            self._answer(200, {"id": repo, "sha": commit.sha, "private": private, "siblings": siblings})

    def _tree(self, body: bytes, repo: str, revision: str) -> None:
        commit = self._found(repo, revision)
        if commit:
            entries = [_entry(name, content) for name, content in commit.files.items()]
            self._answer(200, [{key: value for key, value in entry.items() if key != "id"} for entry in entries])

    def _resolve(self, body: bytes, repo: str, revision: str, name: str) -> None:
        commit = self._found(repo, revision)
        if commit is None:
            return None
        headers = {"X-Repo-Commit": commit.sha}
        if name not in commit.files:
            return self._answer(404, {"error": "Entry not found"}, headers | {"X-Error-Code": "EntryNotFound"})
        content = commit.files[name]
        return self._answer(200, content, headers | {"ETag": f'"{_entry(name, content)["id"]}"'})


def _entry(name: str, content: bytes) -> dict[str, Any]:
    """A file as the Hub's listing has it; "id" is what tells whether it changed."""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    entry = {"type": "file", "path": name, "size": len(content), "oid": blob, "id": blob}
    if name.endswith(LARGE):
        sha256 = hashlib.sha256(content).hexdigest()
        entry |= {"lfs": {"oid": sha256, "size": len(content), "pointerSize": 130}, "id": sha256, "oid": "0" * 40}
    return entry
