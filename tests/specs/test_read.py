"""A file becomes plain data with the place of everything in it, or an error that says where."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import BadSpec, UsageError
from fanwise.specs import Document, parse, read
from fanwise.specs.read import MOST_BYTES
from tests.profiles import examples
from tests.specs.support import HERE, document, refused


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *[(word, word) for word in ("no", "yes", "on", "off", "NO", "y", "1:30", "12:30:45")],
        *[(word, word) for word in ("2026-01-02", "2026-01-02T10:00:00Z", "010", "007", "0x1f")],
        *[(word, word) for word in ("0b11", "1_000", "+49", ".inf", "-.inf", ".nan", "=", "1.2.3")],
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        ("12", 12), ("-3", -3), ("0", 0), ("1.5", 1.5), (".5", 0.5), ("2.", 2.0), ("1e3", 1000.0),
        ("'12'", "12"), ('"true"', "true"), ("!!str 12", "12"), ("!!float 1", 1.0), ("! 12", "12"),
        ("two words", "two words"), ("|\n  a\n  b\n", "a\nb\n"), (">\n  a\n  b\n", "a b\n"),
    ],
)  # fmt: skip
def test_only_true_false_null_and_json_numbers_are_not_text(written: str, meant: Any) -> None:
    found = document(f"a: {written}").data["a"]
    assert found == meant
    assert type(found) is type(meant)


def test_keys_are_text_whatever_they_look_like() -> None:
    assert document("{on: 1, 1: 2, null: 3, true: 4}").data == {
        "on": 1, "1": 2, "null": 3, "true": 4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "f.yaml:3:1: a: this key is there twice, and first in line 1"),
        ("a:\n  b: {c: 1, c: 2}", "f.yaml:2:13: a.b.c: this key is there twice, and first in line "
         "2"),
        ("a:\n\tb: 1", "f.yaml:2:1: a tab indents this line; YAML takes spaces only"),
        ("a:\n  b: 1\n\tc: 2", "f.yaml:3:1: a tab indents this line; YAML takes spaces only"),
        ("", "f.yaml: it is empty"),
        ("# nothing", "f.yaml: it is empty"),
        ("null", "f.yaml: it is empty"),
        ("- a", "f.yaml:1:1: a file is a mapping (`key: value`), not a list"),
        ("a", "f.yaml:1:1: a file is a mapping (`key: value`), not a single value"),
        (b"a: 1\nb: \xff", "f.yaml:2:4: it is not UTF-8; save it as such"),
        ("a: 1".encode("utf-16"), "f.yaml:1:1: it is not UTF-8; save it as such"),
        ("a: x\0y", "f.yaml:1:5: the character '\\x00' is not allowed; escape it"),
        ("a: 1\n---\nb: 2", "f.yaml:2:1: a second document begins; a file has one"),
        ("a: !!python/name:os.system x", "f.yaml:1:4: a: the tag tag:yaml.org,2002:python/name:os"
         ".system is not known here; values are plain data"),
        ("a: !mine [1]", "f.yaml:1:4: a: the tag !mine is not known here; values are plain data"),
        ("a: !!int x", "f.yaml:1:4: a: 'x' is no int"),
        ("a: [1, &x [*x]]", "f.yaml:1:12: a[1][0]: *x stands inside &x, so it would hold itself"),
        ("a: *x", "f.yaml:1:4: a: there is no anchor &x above"),
        ("a: {<<: {b: 1}}", "f.yaml:1:5: a: merging with << is not known here; write the keys out"),
        ("? [a]\n: 1", "f.yaml:1:3: a key must be a word, not a mapping or a list"),
        ("a: 12e4567", "f.yaml:1:4: a: 12e4567 is too large a number; if it is a name, put it in "
         "quotes"),
        ("a: " + "9" * 400_000, "f.yaml:1:4: a: 99999999999999999999999999999… is too large a "
         "number; if it is a name, put it in quotes"),
        ("a: " + "[" * 100_000, "f.yaml:1:103: more than 100 levels, one inside the other"),
        ("a: b: c", "f.yaml:1:5: this is not YAML: mapping values are not allowed in this context"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error_with_its_line_and_column(
    text: str | bytes, message: str
) -> None:
    assert refused(text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n "a": 2}', "f.json:2:2: a: this key is there twice, and first in line 1"),
        ('{"a" 1}', "f.json:1:6: this is not JSON: "),
        ('{"NaN": NaN}', "f.json:1:9: NaN: NaN is no number in JSON"),
        ('{"a": 1e999}', "f.json:1:7: a: 1e999 is too large a number"),
        ("[" * 100_000, "f.json:1:1: "),
        ("[]", "f.json:1:1: a file is a mapping"),
        ("", "f.json:1:1: this is not JSON: "),
    ],
)
def test_json_has_positions_too(text: str, message: str) -> None:
    assert refused(text, "f.json").startswith(message)


def test_json_may_have_tabs_and_escaped_surrogate_pairs() -> None:
    found = document('{"a":\t"\\ud83d\\ude00", "b": [1.5, -2, true, null, "x"]}', "f.json")
    assert found.data == {"a": "😀", "b": [1.5, -2, True, None, "x"]}
    assert found.position(("b", 2)) == (1, 38)


def test_aliases_are_values_once_more() -> None:
    found = document("a: &x {b: 1}\nc: [*x, *x]\n&k d: 1\ne: *k\n")
    assert found.data == {"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}], "d": 1, "e": "d"}
    assert found.position(("c", 1, "b")) == (1, 11)


@pytest.mark.parametrize("leaf", ["x", "y" * 100_000])
def test_aliases_that_unfold_to_more_than_a_file_may_have_are_refused(leaf: str) -> None:
    lines = [f"a0: &a0 [{leaf}]"]
    for level in range(1, 60):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]")
    assert "the aliases unfold to more than 1 MB" in refused("\n".join(lines))


def test_windows_and_old_line_ends_and_a_byte_order_mark_are_read() -> None:
    for end in ("\r\n", "\r", "\n"):
        found = document(f"\ufeffa: 1{end}b: |{end}  x{end}  y{end}")
        assert found.data == {"a": 1, "b": "x\ny\n"}
        assert found.position(("b",)) == (2, 4)


# -- files ---------------------------------------------------------------------------------------


def test_a_file_is_read_and_paths_are_relative_to_its_folder(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("a: ü")
    found = read(tmp_path / "f.yaml")
    assert (found.data, found.folder) == ({"a": "ü"}, tmp_path)
    assert found.name == str(tmp_path / "f.yaml")


def test_a_file_that_is_missing_too_large_or_a_directory_is_an_error(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    with large.open("wb") as file:
        file.truncate(5_000_000)
    for path, message in [
        (tmp_path / "none.yaml", "cannot be read: No such file or directory"),
        (tmp_path, "this is a directory; name a file in it"),
        (large, "it has more than 1 MB; put data into files that it names (inputs)"),
        (Path("/dev/zero"), "it has more than 1 MB; put data into files that it names (inputs)"),
    ]:
        with pytest.raises(BadSpec) as caught:
            read(path)
        assert caught.value.message == f"{path}: {message}"
        assert isinstance(caught.value, UsageError)


def test_a_file_that_nobody_may_read_is_an_error(tmp_path: Path) -> None:
    secret = tmp_path / "f.yaml"
    secret.write_text("a: 1")
    secret.chmod(0)
    if os.access(secret, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(BadSpec, match="Permission denied"):
        read(secret)


def test_a_file_of_the_largest_size_is_read() -> None:
    text = "a: " + "x" * (MOST_BYTES - 3)
    assert len(document(text).data["a"]) == MOST_BYTES - 3


def test_a_document_that_was_kept_has_the_same_data_and_no_positions() -> None:
    first = document("a: {b: 1}")
    again = Document.again(json.loads(json.dumps(first.keep())))
    assert (again.data, again.folder, again.name) == (first.data, first.folder, first.name)
    assert again.at("a", "b").bad("is wrong").message == "f.yaml: a.b: is wrong"
    assert first.at("a", "b").bad("is wrong").message == "f.yaml:1:8: a.b: is wrong"


# -- random --------------------------------------------------------------------------------------

YAML_LIKE = st.text(st.sampled_from(list("ab01:-[]{},&*!|>'\"%@#?<~. \n\t\\\r\0é\u2028\x85")))


@examples(4)
@given(st.one_of(st.binary(), YAML_LIKE.map(str.encode), st.text().map(str.encode)), st.booleans())
def test_random_bytes_are_a_document_or_a_bad_spec(data: bytes, as_json: bool) -> None:
    name = "f.json" if as_json else "f.yaml"
    try:
        found = parse(data, name, HERE)
    except BadSpec as error:
        told = error.message
        assert told.startswith(name)
    else:
        json.dumps(found.data, allow_nan=False)


WORDS = st.text(st.characters(codec="utf-8"), max_size=8)
SCALARS = st.one_of(
    WORDS, st.integers(-(2**63), 2**63), st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(), st.none(),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4)
)
TREES = st.dictionaries(WORDS.filter(lambda key: key != "<<"), VALUES, min_size=1, max_size=4)


class Written:
    """A tree as text in flow style, one value a line, and where each value was put."""

    def __init__(self, tree: Any) -> None:
        self.lines = [""]
        self.places: dict[tuple[str | int, ...], tuple[int, int]] = {}
        self._write(tree, ())

    def _write(self, value: Any, path: tuple[str | int, ...]) -> None:
        self.places[path] = (len(self.lines), len(self.lines[-1]) + 1)
        if isinstance(value, dict):
            self._many("{", "}", path, [(key, f"{_json(key)}: ", v) for key, v in value.items()])
        elif isinstance(value, list):
            self._many("[", "]", path, [(n, "", v) for n, v in enumerate(value)])
        else:
            self.lines[-1] += _json(value)

    def _many(
        self, begin: str, end: str, path: tuple[str | int, ...], parts: list[tuple[Any, str, Any]]
    ) -> None:
        self.lines[-1] += begin
        for number, (part, before, value) in enumerate(parts):
            self.lines[-1] += "," if number else ""
            self.lines.append(f"  {before}")
            self._write(value, (*path, part))
        self.lines[-1] += end


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True)


def has_merge(value: Any) -> bool:
    if isinstance(value, dict):
        return "<<" in value or any(map(has_merge, value.values()))
    return isinstance(value, list) and any(map(has_merge, value))


@examples(2)
@given(TREES.filter(lambda tree: not has_merge(tree)))
def test_random_data_comes_back_with_the_place_of_every_value(tree: dict[str, Any]) -> None:
    written = Written(tree)
    text = "\n".join(written.lines)
    names = ["f.json", "f.yaml"] if "\\ud" not in text and "\\u0000" not in text else ["f.json"]
    for name in names:
        found = parse(text.encode(), name, HERE)
        assert found.data == tree
        for path, place in written.places.items():
            assert found.position(path) == place
