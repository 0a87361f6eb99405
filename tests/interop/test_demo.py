# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The demo page in a headless browser: what it shows, and what it keeps to itself."""

import http.client
import io
import json
import math
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
import torch

from hf_lecture_cli import app
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.lab.demo import page as demo
from hf_lecture_models.lab.demo.answers import LoadedModel, Sampling, continue_text, next_tokens
from hf_lecture_models.lab.demo.style import STEPS, step
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM
from hf_lecture_models.tasks.translation.translate import translate
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.forked_python import PATIENCE
from tests.interop.demo_view import ask, open_tab, opened
from tests.interop.installed import need
from tests.tasks.small_translator import MODELS, SOURCES, make_translator

pytestmark = pytest.mark.slow
need("gradio")

TEXTS = ["the cat saw the dog", "a dog saw a cat", "the dog ran", "the cat ran", "the old man saw the sea"]
NAME = "<img src=x onerror=alert(1)>"
EVIL = "the <script>alert(2)</script> <img src=x onerror=alert(3)> ${alert(4)} {{value}} cat"


@pytest.fixture(scope="module")
def models():
    words, characters = (kind.train(TEXTS, progress=False) for kind in (WordTokenizer, CharTokenizer))
    trigram = NGramForCausalLM.fit(TEXTS, words, order=3, smoothing="add_alpha", alpha=0.1, progress=False)
    torch.manual_seed(0)
    ids = {name: getattr(characters, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    lstm = RecurrentForCausalLM(
        RecurrentConfig(vocab_size=len(characters), hidden_size=8, num_hidden_layers=1, **ids)
    ).eval()
    return [LoadedModel("A: trigram", trigram, words), LoadedModel(f"B: {NAME}", lstm, characters)]


@pytest.fixture(scope="module")
def address(models):
    page = demo.build_page(models)
    yield demo.launch(page)
    page.close(verbose=False)


@pytest.fixture
def view(browser, address):
    with opened(browser, address, width=1000) as view:
        yield view


def numbers(view, selector):
    return [float(text.rstrip("%").replace("∞", "inf")) for text in view.locator(selector).all_inner_texts()]


def test_a_text_is_continued(view, models):
    view.fill("#prompt textarea", "the old")
    view.get_by_label("greedy").check()
    ask(view, "continue", "#next-tokens table")
    expected = next_tokens(models[0], "the old")
    assert numbers(view, "#next-tokens .probability") == [round(100 * token.probability, 2) for token in expected]
    assert view.locator("#next-tokens .token").first.inner_text() == "man"
    widths = view.eval_on_selector_all("#next-tokens .bar div", "all => all.map(one => one.offsetWidth)")
    ratio = expected[1].probability / expected[0].probability
    assert widths[1] / widths[0] == pytest.approx(ratio, abs=0.01)
    expected = continue_text(models[0], "the old", Sampling(30, sample=False))["text"]
    assert view.locator("#continuation .text").inner_text() == expected
    # The same with what must not become markup.
    view.fill("#prompt textarea", EVIL)
    view.click("#button-continue")
    view.wait_for_function("document.querySelector('#continuation').innerText.includes('script')")
    assert view.locator("#continuation .text").inner_text().startswith(EVIL)
    view.fill("#prompt textarea", "a" * 1_000_000)
    ask(view, "continue", "#continuation .error")
    assert view.inner_text("#continuation").strip() == (
        "the text has 1,000,000 characters; this page takes at most 5,000"
    )


def test_the_same_seed_gives_the_same_text_and_another_click_the_next_seed(view, models):
    expected = [continue_text(models[0], "the", Sampling(30, seed=seed))["text"] for seed in range(3)]
    assert len(set(expected)) == 3
    view.fill("#prompt textarea", "the")
    seed = view.get_by_label("Seed of sampling")
    for place, button in enumerate(("continue", "continue-another", "continue-another")):
        view.click(f"#button-{button}")
        view.wait_for_function(
            "text => document.querySelector('#continuation .text')?.innerText === text", arg=expected[place]
        )
        assert seed.input_value() == str(place)
    seed.fill("0")
    view.click("#button-continue")
    view.wait_for_function("text => document.querySelector('#continuation .text').innerText === text", arg=expected[0])


def test_sentences_are_ranked_in_colours(view, models):
    sentences = ["the sea saw the the zebra", "the old man saw the sea", EVIL]
    open_tab(view, "Rank")
    view.fill("#sentences textarea", "\n".join(sentences))
    ask(view, "rank", "#ranking .sentence")
    scores = sorted(score_texts(models[0].model, models[0].tokenizer, sentences), key=lambda one: -one.log_prob)
    shown = [float(text.split()[0]) for text in view.locator("#ranking b.bits").all_inner_texts()]
    assert shown == [round(-score.log_prob / math.log(2), 2) for score in scores]
    bits = [-value / math.log(2) for score in scores for value in score.log_probs]
    assert numbers(view, "#ranking .piece small") == [round(value, 2) for value in bits]
    colours = view.eval_on_selector_all(
        "#ranking .piece", "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert colours == [as_rgb(STEPS[step(value)][0]) for value in bits]
    assert len(set(colours)) > 2
    assert pixels(view, "#ranking .piece") >= set(colours)
    assert "<script>alert(2)</script>" in view.locator("#ranking .unknown").all_inner_texts()


_READABILITY = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => parts(colour).slice(0, 3).map(x => x / 255)
    .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    while (node && !(parts(getComputedStyle(node).backgroundColor)[3] ?? 1)) node = node.parentElement;
    return node ? getComputedStyle(node).backgroundColor : "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll(".hfl *")].filter(node => node.innerText && !node.children.length).map(node => {
    const [low, high] = [light(getComputedStyle(node).color), light(behind(node))].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_the_dark_and_on_a_telephone(browser, address, scheme):
    with opened(browser, address, width=400, scheme=scheme) as view:
        view.fill("#prompt textarea", "the old")
        ask(view, "continue", "#next-tokens table")
        ratios = view.evaluate(_READABILITY)
        heights = [box.bounding_box()["height"] for box in view.locator("#next-tokens tr").all()]
        open_tab(view, "Compare")
        view.fill("#compared textarea", f"the zebra saw the cat cat cat {EVIL}")
        ask(view, "compare", "#comparison table")
        ratios += view.evaluate(_READABILITY)
        heights += [box.bounding_box()["height"] for box in view.locator("#comparison tbody tr").all()]
        assert min(ratios) >= 4.5  # WCAG AA
        assert len(ratios) > 60
        assert max(heights) < 120
        assert view.evaluate("document.documentElement.scrollWidth") <= 400


def as_rgb(colour):
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


def pixels(view, selector):
    """The colours that a picture of the screen has in the middle of the elements' lower edges."""
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(view.screenshot(full_page=True))).convert("RGB")
    boxes = [one.bounding_box() for one in view.locator(selector).all()]
    places = [(int(box["x"] + 4), int(box["y"] + view.evaluate("scrollY") + box["height"] - 4)) for box in boxes]
    return {f"rgb{image.getpixel(place)}" for place in places}


def test_two_models_are_compared(view, models):
    text = f"the cat ran\nzebra {EVIL}"
    open_tab(view, "Compare")
    view.fill("#compared textarea", text)
    ask(view, "compare", "#comparison table")
    assert view.locator("#comparison thead th").all_inner_texts() == ["A: trigram", f"B: {NAME}"]
    measures = [evaluate_language_model(loaded.model, loaded.tokenizer, [text]) for loaded in models]
    cells = view.locator("#comparison tr", has_text="bits per byte").locator("td").all_inner_texts()
    assert cells == [f"{one['bits_per_byte']:,.4g}" for one in measures]
    assert view.locator("#comparison .pair .word").all_inner_texts() == [*text.split(), "end"]
    bits = numbers(view, "#comparison .pair small")
    for column, one in enumerate(measures):
        assert sum(bits[column::2]) == pytest.approx(-one["log_prob"] / math.log(2), abs=0.2)


def test_the_inside_is_seen(view):
    """Each tab answers with its table or picture, or says what the model cannot show."""
    pytest.importorskip("matplotlib")
    open_tab(view, "Inside", "Surprisal")
    view.fill("#weighed textarea", f"the cat ran\nthe {EVIL}")
    ask(view, "see-surprisal", "#surprisal table")
    assert view.locator("#surprisal table").count() == 2
    assert view.locator("#surprisal tbody th.name").all_inner_texts() == 2 * ["A: trigram", f"B: {NAME}"]
    open_tab(view, "Inside", "Attention")
    ask(view, "see-attention", "#attention .error")
    assert "NGramForCausalLM has no attention" in view.inner_text("#attention")
    open_tab(view, "Inside", "Gradients")
    view.fill("#followed textarea", "the cat ran")
    ask(view, "see-gradients", "#gradients img")
    assert view.eval_on_selector("#gradients img", "one => one.decode().then(() => one.naturalWidth)") > 300
    assert "A: trigram: NGramForCausalLM has no word vectors" in view.inner_text("#gradients .error")
    open_tab(view, "Inside", "Segmentation")
    assert view.input_value("#segmented textarea") == "the old man saw the sea"  # B spells Jack's J in bytes
    view.fill("#segmented textarea", "the cat")
    ask(view, "see-segmentation", "#segmentation img")  # of characters: words have no steps, so A is not offered
    assert view.eval_on_selector("#segmentation img", "one => one.decode().then(() => one.naturalWidth)") > 300


def test_a_translator_shows_its_alignment(browser):
    pytest.importorskip("matplotlib")
    model, tokenizer = make_translator("ours")
    blind = make_translator("ours", model=MODELS["ours"] | {"attention_type": "none"})
    page = demo.build_page([LoadedModel("A: additive", model, tokenizer), LoadedModel("B: none", *blind)])
    with opened(browser, demo.launch(page), width=1000) as view:
        open_tab(view, "Translate")
        view.fill("#translated textarea", SOURCES[5])
        ask(view, "translate", "#alignment img")
        (expected,) = translate(model, tokenizer, [SOURCES[5]], num_beams=4)
        assert view.inner_text("#translation .word") == " ".join(expected.text.split())
        assert view.eval_on_selector("#alignment img", "one => one.decode().then(() => one.naturalWidth)") > 300
        view.get_by_label("B: none").check()
        view.fill("#translated textarea", EVIL)
        ask(view, "translate", "#alignment .error")
        view.fill("#translated textarea", " ")
        ask(view, "translate", "#translation .error")
    page.close(verbose=False)


@pytest.fixture
def command(models, tmp_path, monkeypatch, capsys):
    """`hf-lecture demo MODEL ...` that is interrupted as soon as it waits: exit status, output and errors."""
    for part in (models[0].model, models[0].tokenizer):
        part.save_pretrained(tmp_path / "trigram")

    class Interrupted:
        def wait(self):
            raise KeyboardInterrupt

    def run(*options):
        with monkeypatch.context() as patch:
            patch.setattr(demo, "threading", SimpleNamespace(Event=Interrupted))
            with pytest.raises(SystemExit) as stop:
                app(["demo", str(tmp_path / "trigram"), *map(str, options)], prog_name="hf-lecture")
        return stop.value.code, *capsys.readouterr()

    return run


def test_the_command_listens_to_this_machine_unless_told_otherwise(command, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    status, out, err = command()
    assert (status, err) == (130, "interrupted\n")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/  \(Ctrl-C ends it\)\n", out)
    assert not opened  # this is no terminal
    status, out, err = command("--host", "0.0.0.0")
    assert "everybody who can reach 0.0.0.0 can use this page" in err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, _, err = command("--port", taken.getsockname()[1])
    assert status == 1
    assert err.startswith("hf-lecture demo: ")
    assert err.count("\n") == 1
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    assert "pip install 'hf-lecture-models[demo]'" in command()[2]


def get(address, path, method="GET", body=None, headers=None):
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_the_server_gives_nothing_of_the_disk_away(address, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("do not tell")
    package = demo.__file__
    for prefix in ("/gradio_api/file=", "/file=", "/gradio_api/file/", "/assets/../../../../../../..", "/static/.."):
        for path in (str(secret), package, "/etc/passwd"):
            status, text = get(address, prefix + path)
            assert status in (403, 404)
            assert not re.search("do not tell|Copyright|root:", text)
    assert get(address, "/assets/..%2f..%2f..%2f..%2froutes.py")[0] in (403, 404)
    assert get(address, "/gradio_api/upload", "POST", b"x", {"Content-Type": "multipart/form-data"})[0] == 403
    assert get(address, "/", headers={"Host": "evil.example"})[0] == 403
    assert get(address, "/gradio_api/queue/join", "POST", b"x" * 4_000_001)[0] == 413
    config = json.loads(get(address, "/config")[1])
    assert str(tmp_path.home()) not in json.dumps(config).replace(NAME, "")


def test_users_do_not_get_each_others_answers(address, models):
    config = json.loads(get(address, "/config")[1])
    function = next(one["id"] for one in config["dependencies"] if len(one["inputs"]) == 3 and len(one["outputs"]) == 1)
    sentences = [f"the cat saw {'the dog ' * number}" for number in range(8)]
    barrier = threading.Barrier(len(sentences))

    def ask(number):
        session = {"session_hash": f"user{number}"}
        data = {"data": ["A: trigram", sentences[number], "the whole sentence"], "fn_index": function, **session}
        barrier.wait()
        headers = {"Content-Type": "application/json"}
        assert get(address, "/gradio_api/queue/join", "POST", json.dumps(data).encode(), headers)[0] == 200
        events = get(address, f"/gradio_api/queue/data?session_hash=user{number}")[1]
        done = [json.loads(line[6:]) for line in events.splitlines() if "process_completed" in line]
        return done[0]["output"]["data"][0]

    with ThreadPoolExecutor(len(sentences)) as users:
        answers = list(users.map(ask, range(len(sentences))))
    scores = score_texts(models[0].model, models[0].tokenizer, [one.strip() for one in sentences])
    for answer, score in zip(answers, scores, strict=True):
        assert f"{-score.log_prob / math.log(2):.2f} bits" in answer
