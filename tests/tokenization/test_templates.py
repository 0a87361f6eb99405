# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which special tokens stand around texts and pairs, on every tokenizer: new or trained, saved, cut, padded."""

import json
import pickle

import pytest
from transformers import (
    AutoTokenizer,
    BertTokenizer,
    TokenizersBackend,
)

from hf_lecture_models.tasks.core.factories import make_tokenizer
from hf_lecture_models.tokenization import (
    TEMPLATES,
    Template,
    WordTokenizer,
    require_template,
)
from tests.tokenization.test_every_tokenizer import TOKENIZERS

CORPUS = ["the cat saw the dog", "a dog <unk> né"]
# Before a text, between two, behind the last; and the type of the second and of what is behind it.
AROUND = {
    "bert": (["[CLS]"], ["[SEP]"], ["[SEP]"]),
    "roberta": (["[CLS]"], ["[SEP]", "[SEP]"], ["[SEP]"]),
    "gpt1": (["<start>"], ["<delim>"], ["<extract>"]),
    "pair": (["<s>"], ["<s>"], []),
}
CALLS = [
    (["the dog"], {}),
    (["the dog", "a cat"], {}),
    ([["the dog saw", "a"], ["a cat", "dog"]], {"padding": True}),
    ([["the", "dog"], ["a", "cat"]], {"is_split_into_words": True}),
    (["the cat saw the dog", "a dog"], {"truncation": True, "max_length": 5}),
    (["the cat saw the dog", "a dog"], {"return_special_tokens_mask": True, "return_offsets_mapping": True}),
]


def check_pair(tokenizer, name):
    first, second = (tokenizer(text, add_special_tokens=False).input_ids for text in ("the dog", "a cat"))
    before, between, behind = (tokenizer.convert_tokens_to_ids(tokens) for tokens in AROUND[name])
    pair = tokenizer("the dog", "a cat", return_token_type_ids=True)
    assert pair.input_ids == before + first + between + second + behind
    # The separator of two texts is of the first one, unless it begins the second.
    opening = len(between) if name == "pair" else 0
    of_first = len(before) + len(first) + len(between) - opening
    assert pair.token_type_ids == [0] * of_first + [1] * (len(pair.input_ids) - of_first)
    single = tokenizer("the dog")
    assert single.input_ids == before + first + behind
    assert ("token_type_ids" in single) == TEMPLATES[name].type_ids
    assert tokenizer.num_special_tokens_to_add(pair=True) == len([*before, *between, *behind])
    assert tokenizer.num_special_tokens_to_add() == len([*before, *behind])


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_new_tokenizers_follow_the_template(kind, name):
    tokenizer = TOKENIZERS[kind](template=name)
    check_pair(tokenizer, name)
    assert tokenizer.template == name
    assert tokenizer.padding_side == "right"
    require_template(tokenizer, name)
    assert len(set(tokenizer.get_vocab().values())) == len(tokenizer)


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_trained_tokenizers_take_a_template_and_keep_their_ids(kind, name):
    tokenizer = TOKENIZERS[kind]()
    vocabulary = dict(tokenizer.get_vocab())
    tokenizer.set_template(name)
    check_pair(tokenizer, name)
    assert vocabulary.items() <= tokenizer.get_vocab().items()
    added = [token for token in TEMPLATES[name].tokens.values() if token not in (None, "[PAD]")]
    assert [tokenizer.convert_ids_to_tokens(id_) for id_ in range(len(vocabulary), len(tokenizer))] == added
    assert tokenizer.decode(tokenizer("the dog").input_ids, skip_special_tokens=True).split() == ["the", "dog"]


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_saved_tokenizers_give_the_same_everywhere(tmp_path, kind, name):
    late = TOKENIZERS[kind]()
    late.set_template(name)
    for step, tokenizer in enumerate((TOKENIZERS[kind](template=name), late)):
        folder = tmp_path / str(step)
        tokenizer.save_pretrained(folder)
        expected = [dict(tokenizer(*texts, **options)) for texts, options in CALLS]
        for cls in (AutoTokenizer, type(tokenizer), TokenizersBackend):
            again = cls.from_pretrained(folder)
            assert [dict(again(*texts, **options)) for texts, options in CALLS] == expected
            assert again.special_tokens_map == tokenizer.special_tokens_map
            assert again.padding_side == "right"
            assert again.model_input_names == tokenizer.model_input_names
        again = AutoTokenizer.from_pretrained(folder)
        assert type(again) is type(tokenizer)
        assert again.template == name
        again.save_pretrained(tmp_path / "twice")
        for file in ("tokenizer.json", "tokenizer_config.json"):
            again, once = ((place / file).read_text(encoding="utf-8") for place in (tmp_path / "twice", folder))
            assert json.loads(again) == json.loads(once)


@pytest.mark.parametrize("name", ["bert", "gpt1"])
@pytest.mark.parametrize("strategy", ["longest_first", "only_first", "only_second"])
@pytest.mark.parametrize("side", ["right", "left"])
def test_truncation_keeps_every_special_token(name, strategy, side):
    tokenizer = TOKENIZERS["word"](template=name, truncation_side=side)
    texts = ("the cat saw the dog the cat", "a dog saw a dog a")
    ids = tokenizer(*texts, truncation=strategy, max_length=11).input_ids
    before, between, behind = (tokenizer.convert_tokens_to_ids(tokens) for tokens in AROUND[name])
    special = [id_ for id_ in ids if id_ in tokenizer.all_special_ids and id_ != tokenizer.unk_token_id]
    assert len(ids) == 11
    assert special == before + between + behind
    assert ids[0] == before[0]
    assert ids[-1] == behind[0]
    assert tokenizer(*texts, truncation=True, max_length=3).input_ids == before + between + behind


@pytest.mark.parametrize("strategy", ["longest_first", "only_first"])
def test_truncation_that_cannot_be_is_refused(strategy):
    tokenizer = TOKENIZERS["word"](template="bert")
    with pytest.raises(ValueError, match="max_length=2 has no room for 3 special tokens"):
        tokenizer("the dog", "a cat", truncation=strategy, max_length=2)
    with pytest.raises(ValueError, match="max_length=2 has no room for 3 special tokens"):
        tokenizer([("the dog", "a cat")], truncation=strategy, max_length=2)
    assert len(tokenizer("the dog", truncation=strategy, max_length=2).input_ids) == 2
    with pytest.raises(ValueError, match="truncation='only_second' cuts is too short.*longest_first"):
        tokenizer("the cat saw the dog", "a", truncation="only_second", max_length=7)


def test_bert_is_berts_own_template():
    vocab = {token: id_ for id_, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog"])}
    stock = BertTokenizer(vocab=vocab)
    require_template(stock, "bert")
    ours = WordTokenizer.train(["the dog"], template="bert", unk_token="[UNK]")
    for texts in (["the dog"], ["the dog", "dog the the"]):
        found, expected = (tokenizer(*texts, padding="max_length", max_length=12) for tokenizer in (ours, stock))
        assert found.tokens() == expected.tokens()
        assert found.token_type_ids == expected.token_type_ids
        assert found.attention_mask == expected.attention_mask
        assert list(found) == list(expected)


@pytest.mark.parametrize("flag", ["add_bos_token", "add_eos_token"])
def test_contradictions_are_refused(tmp_path, flag):
    with pytest.raises(ValueError, match=f"{flag}=True and the template 'bert' both say"):
        WordTokenizer.train(CORPUS, template="bert", **{flag: True})
    tokenizer = WordTokenizer.train(CORPUS, template="gpt1")
    before = tokenizer("a", "b").input_ids
    with pytest.raises(ValueError, match=r"contradict this tokenizer's template '<start> \$A <extract>'"):
        setattr(tokenizer, flag, True)
    setattr(tokenizer, flag, False)
    assert (tokenizer.add_bos_token, tokenizer.add_eos_token) == (False, False)
    assert tokenizer("a", "b").input_ids == before
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="contradict this tokenizer's template"):
        WordTokenizer.from_pretrained(tmp_path, **{flag: True})
    assert WordTokenizer.from_pretrained(tmp_path, **{flag: False})("a", "b").input_ids == before


def test_templates_of_ones_own(tmp_path):
    tokenizer = WordTokenizer.train(CORPUS)
    tokenizer.set_template(Template("bos_token $A eos_token", "bos_token $A eos_token $B:1 </s>:1"), "left")
    assert tokenizer("the dog", "a").tokens() == ["<s>", "the", "dog", "</s>", "a", "</s>"]
    assert tokenizer("the dog", "a").token_type_ids == [0, 0, 0, 0, 1, 1]
    assert tokenizer.template is None
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again("the dog", "a").data == tokenizer("the dog", "a").data
    assert again.padding_side == "left"
    assert pickle.loads(pickle.dumps(again))("the dog", "a").data == tokenizer("the dog", "a").data


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("brt", "template is 'brt'; it must be one of bert, roberta, gpt1, pair"),
        (Template("$A", "$A $A"), r"'\$A \$A' must hold \$A and \$B"),
        (Template("$A $A", "$A $B"), r"must hold \$A, in this order and once"),
        (
            Template("$A [X]", "$A $B"),
            r"'\[X\]' is neither a special token of this tokenizer \(<unk>, <s>, </s>, <pad>\) nor the name",
        ),
        (Template("cls_token $A", "$A $B"), "'cls_token' is neither a special token of this tokenizer"),
        (Template("bos_token:x $A", "$A $B"), "a type id, a whole number, must follow the colon"),
    ],
)
def test_templates_that_cannot_be_leave_the_tokenizer_as_it_was(template, message):
    tokenizer = WordTokenizer.train(CORPUS)
    before = tokenizer.backend_tokenizer.to_str()
    with pytest.raises(ValueError, match=message):
        tokenizer.set_template(template)
    assert tokenizer.backend_tokenizer.to_str() == before
    with pytest.raises(ValueError, match=message):
        WordTokenizer.train(CORPUS, template=template)


def test_an_ordinary_word_cannot_become_a_special_token():
    tokenizer = WordTokenizer.train(["a <start> b"])
    before = tokenizer.backend_tokenizer.to_str()
    with pytest.raises(ValueError, match="needs '<start>' as a special token, but it is an ordinary word"):
        tokenizer.set_template("gpt1")
    assert tokenizer.backend_tokenizer.to_str() == before
    tokenizer.set_template("gpt1", start_token="<s>", delim_token="$")
    assert tokenizer("a", "<start>").tokens() == ["<s>", "a", "$", "<start>", "<extract>"]
    assert tokenizer.delim_token == "$"
    assert tokenizer.template == "gpt1"
    with pytest.raises(TypeError, match="has no first_token; it has start_token, delim_token, extract_token"):
        tokenizer.set_template("gpt1", first_token="<s>")


def test_special_tokens_may_have_any_spelling(tmp_path):
    tokenizer = WordTokenizer.train(CORPUS, template="gpt1", delim_token="$", extract_token="a:b", start_token="né")
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again("the", "a").tokens() == ["né", "the", "$", "a", "a:b"]
    assert again.template == "gpt1"


def test_a_new_vocabulary_has_no_word_that_is_a_special_token():
    tokenizer = WordTokenizer.train(["a [CLS] <start> b"], template="bert", vocab_size=8)
    assert tokenizer.convert_ids_to_tokens(range(8)) == [
        "<unk>",
        "<start>",
        "a",
        "b",
        "[PAD]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
    ]
    tokenizer = WordTokenizer.train(["a [CLS] <start> b"], template="gpt1", start_token="b")
    assert tokenizer("a").tokens() == ["b", "a", "<extract>"]


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("kind", ["word", "bpe_bytes", "char"])
def test_another_vocabulary_keeps_the_template(kind, name):
    tokenizer = TOKENIZERS[kind](template=name)
    again = tokenizer.train_new_from_iterator(["the dog a cat", "the fish"], 400)
    check_pair(again, name)
    assert again.template == name
    assert again.special_tokens_map == tokenizer.special_tokens_map
    renamed = tokenizer.train_new_from_iterator(["the dog a cat"], 400, special_tokens_map={AROUND[name][0][0]: "[X]"})
    assert renamed("the dog").tokens()[0] == "[X]"
    assert renamed.template == name


def test_another_vocabulary_keeps_a_template_of_ones_own():
    tokenizer = WordTokenizer.train(CORPUS, template=Template("<e> $A", "<e> $A $B:1"), extra_special_tokens=["<e>"])
    again = tokenizer.train_new_from_iterator(["x y"], 20, special_tokens_map={"<e>": "<f>"})
    assert again("x", "y").tokens() == ["<f>", "x", "y"]
    assert again("x", "y").token_type_ids == [0, 0, 1]


def test_language_models_are_as_before(tmp_path):
    tokenizer = WordTokenizer.train(CORPUS)
    assert tokenizer.template is None
    assert tokenizer.padding_side == "left"
    assert list(tokenizer("the dog", "a")) == ["input_ids", "attention_mask"]
    tokenizer.save_pretrained(tmp_path)
    assert "model_input_names" not in json.loads((tmp_path / "tokenizer_config.json").read_text())
    tokenizer.add_eos_token = True
    assert tokenizer("the", "a").tokens() == ["<s>", "the", "</s>", "<s>", "a", "</s>"]


def test_a_folder_is_loaded_with_a_template(tmp_path):
    WordTokenizer.train(CORPUS).save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path, template="gpt1")
    check_pair(tokenizer, "gpt1")
    assert tokenizer.padding_side == "right"


def test_required_templates():
    with pytest.raises(ValueError, match=r"this WordTokenizer writes '<s> \$A <s>:1 \$B:1': call tokenizer.set_templ"):
        require_template(WordTokenizer.train(CORPUS), "gpt1")
    with pytest.raises(ValueError, match="must be one of"):
        require_template(WordTokenizer.train(CORPUS), "gpt2")
    with pytest.raises(ValueError, match="has no template"):
        require_template(object(), "bert")
    with pytest.raises(ValueError, match="'pair'"):
        require_template(WordTokenizer.train(CORPUS), "pair")  # it returns no token_type_ids


def test_recipes_name_a_template():
    tokenizer = make_tokenizer({"type": "bpe", "template": "bert"}, CORPUS)
    check_pair(tokenizer, "bert")
    with pytest.raises(
        ValueError, match=r"recipe: tokenizer\.template must be one of bert, roberta, gpt1, pair, not brt"
    ):
        make_tokenizer({"type": "bpe", "template": "brt"}, CORPUS)
    with pytest.raises(ValueError, match="recipe: tokenizer.template must be str, not 3"):
        make_tokenizer({"type": "bpe", "template": 3}, CORPUS)
