#!/usr/bin/env bash
# tokenizers 0.23: BertPreTokenizer and Punctuation know no mark that came after Unicode 8 (2015), BertNormalizer no accent.
#
# What one would guess: BERT's fast tokenizer splits at every mark whose category in Unicode is punctuation, and with
# `strip_accents` removes every nonspacing mark (Mn), as the code published with BERT does by Python's `unicodedata`. A
# release of 2026 has the categories of a Unicode of these years.
#
# What is true: the categories are of Unicode 8. Of the 819 punctuation marks of Unicode 14, 104 are never split, and 384
# of 1,950 nonspacing marks stay. Lower case is of a later Unicode: of Adlam (Unicode 9; Fulani is written in it) the letters
# are known, but the question mark stays a part of the word beside it. Nothing hints at it.
#
# Where it is from: tokenizers/src/pre_tokenizers/bert.rs, pre_tokenizers/punctuation.rs and normalizers/bert.rs, of 0.23.3,
# take the categories from the crate unicode_categories.
#
# It needs Python 3.11 or later (Unicode 14), and downloads tokenizers into a temporary folder.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check tokenizers==0.23.3

cat >"$folder/try.py" <<'PYTHON'
import unicodedata

from tokenizers import normalizers, pre_tokenizers

splitters = pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Punctuation()
clean = normalizers.BertNormalizer(lowercase=False, strip_accents=True)
for version, letter, mark in (
    (7, "a", "\u2e42"),
    (8, "\u0915", "\ua8fc"),
    (9, "\U0001e922", "\U0001e95f"),
    (11, "\u0a15", "\u0a76"),
    (12, "\u0c15", "\u0c77"),
    (14, "\u0628", "\u061d"),
):
    assert unicodedata.category(mark) == "Po" or version == 7
    words = [len(one.pre_tokenize_str(letter + mark + letter)) for one in splitters]
    print(f"Unicode {version}, {unicodedata.name(mark)}: {words[0]} and {words[1]} words")
for version, letter, mark in ((1, "e", "\u0301"), (8, "e", "\ufe2e"), (9, "\U0001e922", "\U0001e944")):
    assert unicodedata.category(mark) == "Mn"
    print(f"Unicode {version}, {unicodedata.name(mark)}: removed is {clean.normalize_str(letter + mark) == letter}")
adlam = normalizers.BertNormalizer(strip_accents=False).normalize_str("\U0001e900")
print("lower case of ADLAM CAPITAL LETTER ALIF:", unicodedata.name(adlam))
PYTHON

seen="$("$folder/venv/bin/python" "$folder/try.py")"
expected="Unicode 7, DOUBLE LOW-REVERSED-9 QUOTATION MARK: 3 and 3 words
Unicode 8, DEVANAGARI SIGN SIDDHAM: 3 and 3 words
Unicode 9, ADLAM INITIAL QUESTION MARK: 1 and 1 words
Unicode 11, GURMUKHI ABBREVIATION SIGN: 1 and 1 words
Unicode 12, TELUGU SIGN SIDDHAM: 1 and 1 words
Unicode 14, ARABIC END OF TEXT MARK: 1 and 1 words
Unicode 1, COMBINING ACUTE ACCENT: removed is True
Unicode 8, COMBINING CYRILLIC TITLO LEFT HALF: removed is True
Unicode 9, ADLAM ALIF LENGTHENER: removed is False
lower case of ADLAM CAPITAL LETTER ALIF: ADLAM SMALL LETTER ALIF"
echo "$seen"
if [ "$seen" != "$expected" ]; then
  printf 'this is no longer so; expected was\n%s\n' "$expected"
  exit 1
fi
echo "seen as described"
