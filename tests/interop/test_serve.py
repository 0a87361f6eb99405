# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture exec transformers serve`: completions and chat over HTTP, as `generate()` alone gives them."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from tests.forked_python import PATIENCE
from tests.interop.installed import need
from tests.interop.small_models import save_small_model
from tests.interop.trained_models import TEXTS, TOKENIZERS

pytestmark = pytest.mark.slow

need("openai", "uvicorn", "fastapi")

COMMAND = [sys.executable, "-c", "from hf_lecture_cli import main; main()", "exec", "transformers", "serve"]
MOST = 12


@contextmanager
def serving(log: Path, *options: str) -> Iterator[str]:
    """The address of a server for all models, at a free port; it has ended when the block has."""
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*COMMAND, "--port", "0", "--host", "127.0.0.1", "--device", "cpu", *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield wait_for_address(server, log)
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("serve") / "log") as address:
        yield address


def wait_for_address(server: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        if found := re.search(r"running on (http://\S+)", log.read_text(encoding="utf-8")):
            return found[1]
        time.sleep(0.1)
    pytest.fail(f"the server did not start:\n{log.read_text(encoding='utf-8')[-4000:]}", pytrace=False)


class Client:
    """Asks one server for greedy text."""

    def __init__(self, address: str, model: str):
        import openai

        self.api = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0, timeout=PATIENCE)
        self.options: dict[str, Any] = {"model": model, "max_tokens": MOST, "temperature": 0}

    def complete(self, prompt: str) -> tuple[str, int]:
        answer = self.api.completions.create(prompt=prompt, **self.options)
        return answer.choices[0].text, answer.usage.completion_tokens

    def complete_in_pieces(self, prompt: str) -> tuple[str, int]:
        pieces = list(self.api.completions.create(prompt=prompt, stream=True, **self.options))
        return "".join(piece.choices[0].text for piece in pieces), pieces[-1].usage.completion_tokens

    def chat(self, messages: list[dict[str, str]]) -> tuple[str, int]:
        answer = self.api.chat.completions.create(messages=messages, **self.options)
        return answer.choices[0].message.content, answer.usage.completion_tokens

    def chat_in_pieces(self, messages: list[dict[str, str]]) -> tuple[str, int]:
        pieces = list(self.api.chat.completions.create(messages=messages, stream=True, **self.options))
        return "".join(piece.choices[0].delta.content or "" for piece in pieces), pieces[-1].usage.completion_tokens


def alone(folder: str, asked: list[str | list[dict[str, str]]]) -> list[tuple[str, int]]:
    """What `generate()` gives for prompts and chats, one by one: new text, and its number of tokens."""
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    found = []
    for one in asked:
        if isinstance(one, str):
            inputs = tokenizer(one, return_tensors="pt")
        else:
            inputs = tokenizer.apply_chat_template(
                one, add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
        ids = model.generate(**inputs, max_new_tokens=MOST, do_sample=False)[0, inputs["input_ids"].shape[1] :]
        found.append((tokenizer.decode(ids, skip_special_tokens=True), len(ids)))
    return found


def question(text: str) -> str:
    return " ".join(text.split()[:3])


def chat(**said: str) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in said.items()]


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_two_clients_get_what_generate_gives(name: str, folders: dict[str, str], address: str) -> None:
    prompts = ["", "the", *map(question, TEXTS)]
    chats = [chat(user=question(text)) for text in TEXTS]
    chats.append(chat(system="a dog", user=question(TEXTS[0])))
    chats.append(chats[0] + chat(assistant="on the log .") + chats[1])
    completed, answered = alone(folders[name], prompts), alone(folders[name], chats)

    def ask(turn: int) -> None:
        client = Client(address, folders[name])
        for index in range(len(prompts)):
            ways = (client.complete, client.complete_in_pieces)
            assert ways[(index + turn) % 2](prompts[index]) == completed[index]
        for index in range(len(chats)):
            ways = (client.chat, client.chat_in_pieces)
            assert ways[(index + turn) % 2](chats[index]) == answered[index]

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(ask, (0, 1)))
    # Words are parted by single blanks, and the answer ends where the model ends it.
    assert [text for text, _ in answered[: len(TEXTS)]] == [" ".join(text.split()[3:]) for text in TEXTS]


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_stop_strings(name: str, folders: dict[str, str], address: str) -> None:
    """The answer ends with the string, at the first place where the text has it; OpenAI's own leaves the string out."""
    client = Client(address, folders[name])
    whole, tokens = client.complete("the cat")
    stop = "on the"
    assert stop in whole
    expected = whole[: whole.index(stop) + len(stop)]
    for given in (stop, ["nowhere", stop]):
        client.options["stop"] = given
        for ask in (client.complete, client.complete_in_pieces):
            text, fewer = ask("the cat")
            assert (text, fewer < tokens) == (expected, True)
    answered, _ = client.chat(chat(user=question(TEXTS[0])))
    assert answered == "on the"


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A model of 16 positions; and a vocabulary without an unknown word."""
    root = tmp_path_factory.mktemp("limited")
    save_small_model(root / "ours", "gpt1", max_position_embeddings=16)
    closed = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    NGramForCausalLM.fit(TEXTS, closed, order=2, smoothing="add_alpha").save_pretrained(root / "closed")
    closed.save_pretrained(root / "closed")
    return {name: str(root / name) for name in ("ours", "closed")}


def refusal(client: Client, prompt: str, **options: Any) -> tuple[int, str]:
    import openai

    with pytest.raises(openai.APIStatusError) as caught:
        client.api.completions.create(prompt=prompt, **client.options | options)
    return caught.value.status_code, caught.value.response.text


def test_what_a_model_refuses_is_the_requests_fault(limited: dict[str, str], address: str) -> None:
    import openai

    client, long = Client(address, limited["ours"]), "the cat " * 20
    assert client.complete("the cat")[1] == MOST
    status, reason = refusal(client, long)
    assert (status, "positions 0 to 15" in reason) == (400, True)
    # While it streams, the status is sent already: an error ends the stream.
    with pytest.raises(openai.APIError) as caught:
        client.complete_in_pieces(long)
    assert "positions 0 to 15" in str(caught.value.body)
    assert refusal(client, "the cat", max_tokens=0) == (
        400,
        '{"detail":"`max_new_tokens` must be greater than 0, but is 0."}',
    )
    assert refusal(client, "the cat", stop="")[0] == 400
    status, reason = refusal(Client(address, limited["closed"]), "the zebra")
    assert (status, "'zebra' is not in the vocabulary" in reason) == (400, True)


def test_a_chat_is_cut_where_asked_to(limited: dict[str, str], address: str) -> None:
    """`--chat-template-kwargs` of the command does the same for all requests."""
    client = Client(address, limited["ours"])
    client.options["extra_body"] = {"chat_template_kwargs": {"truncation": True, "max_length": 12}}
    _, tokens = client.chat(chat(user="the cat " * 20))
    assert 1 <= tokens <= 5  # 16 can be read, and the last one is not


def test_continuous_batching(folders: dict[str, str], limited: dict[str, str], tmp_path: Path) -> None:
    """For models of keys and values; the others say so. transformers' own: it takes no notice of `stop`."""
    with serving(tmp_path / "log", "--continuous-batching", "--cb-num-blocks", "40") as address:
        client = Client(address, folders["self_attention"])
        prompts = ["", "the", *map(question, TEXTS)]
        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(client.complete, prompts))
        assert answers == alone(folders["self_attention"], prompts)
        client.options["stop"] = "on"
        assert client.complete("the cat")[0] == "sat on the mat ."
        for name in ("recurrent", "feed_forward", "ngram"):
            status, reason = refusal(Client(address, folders[name]), "the cat")
            assert (status, "has no keys and values" in reason) == (400, True)
        # What the model cannot read is refused, and the next request is served.
        client = Client(address, limited["ours"])
        status, reason = refusal(client, "the cat " * 20)
        assert (status, "longer than Gpt1ForCausalLM can read, 16 tokens" in reason) == (400, True)
        assert client.api.completions.create(prompt="the cat", model=limited["ours"]).usage.completion_tokens <= 14
        assert client.complete("the cat")[1] == MOST
