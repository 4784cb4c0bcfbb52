"""The check of prose finds the words that texts avoid, and only these."""

import pytest

from tools.prose import __main__ as prose
from tools.prose import texts

RULES = prose.read_rules()


def find(text: str) -> list[str]:
    return [words for _, words, _ in prose.find(texts.Text(1, text), RULES)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("taken by somebody else", "somebody"),
        ("this is no mapping", "is no mapping"),
        ("once it is asked to go", "asked to go"),
        ("the object is gone", "is gone"),
        ("in the place\nof another", "in the place of"),
        ("it is made anew", "anew"),
        ("which stands still", "stands still"),
        ("it is left for good", "for good"),
        ("what lacks", "lacks"),
        ("whatever the server says", "says"),
    ],
)
def test_words_that_are_avoided_are_found(text, words):
    """A pattern is found without regard to line ends."""
    assert [words] == find(text)


@pytest.mark.parametrize(
    "text",
    [
        "There is no mapping.",
        "It is no longer served.",
        "The field ``lacks`` is a name.",
        "goes on to the next stage",
        "The object is deleted.",
    ],
)
def test_plain_english_passes(text):
    """Similar words, and names that are quoted, are not found."""
    assert [] == find(text)


def test_the_line_of_the_words_is_reported():
    """Lines count from the first of the text."""
    text = texts.Text(7, "first\nsecond\nit is gone\nfourth")

    ((line, _, instead),) = prose.find(text, RULES)

    assert 9 == line
    assert "is deleted, no longer exists" == instead


def test_comments_docstrings_and_strings_are_read(tmp_path):
    """Names in code are not prose; fields of a formatted string neither."""
    path = tmp_path / "a.py"
    path.write_text(
        '"""Doc."""\n# First\n# second\nlacks = f"{nobody} is x"  # Last\n'
    )

    found = {(text.line, text.text) for text in texts.read_texts(path)}

    assert found == {
        (1, "Doc."),
        (2, "First\nsecond\nLast"),
        (4, "… is x"),
    }
