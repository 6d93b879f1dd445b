"""Inputs in the file itself or beside it: each has a stable id, all are checked beforehand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import BadSpec
from fanwise.specs import Inputs, InputsSpec, SpecModel, check, read


class File(SpecModel):
    inputs: InputsSpec


def load(folder: Path, text: str, **files: str) -> Inputs:
    """`inputs: TEXT` in a document, beside the given files (`_` stands for `.`)."""
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)
    (folder / "f.yaml").write_text(f"inputs: {text}\n")
    document = read(folder / "f.yaml")
    return check(document, File).inputs.load(document.at("inputs"))


def problems(folder: Path, text: str, **files: str) -> list[str]:
    with pytest.raises(BadSpec) as caught:
        load(folder, text, **files)
    found = caught.value
    return [problem.at(Path(found.file).name) for problem in found.problems]


def rows(inputs: Inputs) -> list[tuple[str, dict[str, Any]]]:
    return [(each.id, {k: v for k, v in each.data.items() if k != "id"}) for each in inputs]


def test_a_list_has_ids_of_its_own_or_its_indices(tmp_path: Path) -> None:
    found = load(tmp_path, "[{id: x, a: 1}, {a: 2}, just text]")
    assert rows(found) == [("x", {"a": 1}), ("1", {"a": 2}), ("2", {"text": "just text"})]
    assert [each.data["id"] for each in found] == ["x", "1", "2"]
    assert (len(found), found[1].id) == (3, "1")
    assert found.columns == {"id"}


def test_another_column_may_be_the_id(tmp_path: Path) -> None:
    assert [each.id for each in load(tmp_path, "{items: [{n: 7}, {n: b}], id: n}")] == ["7", "b"]


def test_rows_of_json_lines_and_csv(tmp_path: Path) -> None:
    found = load(tmp_path, "{file: r.jsonl, id: n}", r_jsonl='{"n": 1, "t": "x"}\n\n{"n": 2}\n')
    assert rows(found) == [("1", {"n": 1, "t": "x"}), ("2", {"n": 2})]
    found = load(tmp_path, "{file: r.csv}", r_csv='id,t\r\na,"x\r\ny"\r\nb,\r\n')
    assert rows(found) == [("a", {"t": "x\r\ny"}), ("b", {"t": ""})]
    assert found.columns == {"id", "t"}


def test_files_of_a_folder_are_inputs_with_their_paths_as_ids(tmp_path: Path) -> None:
    (tmp_path / "texts" / "sub").mkdir(parents=True)
    for name in ("b.txt", "a.txt", "sub/c.txt", "d.md"):
        (tmp_path / "texts" / name).write_text(f"this is {name}")
    found = load(tmp_path, '{folder: texts, glob: "**/*.txt"}')
    assert [each.id for each in found] == ["a.txt", "b.txt", "sub/c.txt"]
    assert found[2].data == {
        "id": "sub/c.txt", "path": "sub/c.txt", "name": "c", "text": "this is sub/c.txt",
    }  # fmt: skip
    assert [each.id for each in load(tmp_path, '{glob: "texts/*.md"}')] == ["texts/d.md"]
    assert [each.id for each in load(tmp_path, "{folder: texts}")] == ["a.txt", "b.txt", "d.md"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[]", ["f.yaml:1:9: inputs: there are no inputs"]),
        ("[{id: a}, {id: a}]", ["f.yaml:1:24: inputs[1].id: 'a' is the id of input 0 too"]),
        ("[{id: '1'}, {}, 3]", ["f.yaml:1:21: inputs[1].id: '1' is the id of input 0 too",
                                "f.yaml:1:25: inputs[2]: an input is a mapping, or text"]),
        ("[{id: [1]}]", ["f.yaml:1:15: inputs[0].id: an id is text or a whole number, not [1]"]),
        ("{items: [{m: 1}], id: n}", ["f.yaml:1:18: inputs.items[0].n: is missing; known: m"]),
        ("{}", ["f.yaml:1:9: inputs: give a list, or one of `items`, `file` and `glob` (with "
                "`folder`)"]),
        ("{file: a.csv, glob: b}", ["f.yaml:1:9: inputs: give a list, or one of `items`, `file` "
                                    "and `glob` (with `folder`)"]),
        ("{glob: x, id: y}", ["f.yaml:1:9: inputs: the id of a file is its path; leave `id` out"]),
        ("{fiel: r.csv}", ["f.yaml:1:10: inputs.fiel: is not known here; did you mean `file`?"]),
        ("{file: none.csv}", ["f.yaml:1:16: inputs.file: none.csv: cannot be read: No such file or "
                              "directory"]),
        ("{file: f.txt}", ["f.yaml:1:16: inputs.file: f.txt: the name of a file with inputs ends "
                           "with one of .jsonl, .json, .csv, .tsv, .yaml, .yml, .parquet"]),
        ("{folder: none}", ["f.yaml:1:18: inputs.folder: there is no folder 'none'"]),
        ('{glob: "*.none"}', ["f.yaml:1:16: inputs.glob: no file matches '*.none'"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_inputs_is_said_with_its_place(
    tmp_path: Path, text: str, wanted: list[str]
) -> None:
    assert problems(tmp_path, text) == wanted


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("", ["f.yaml:1:16: inputs.file: r.jsonl: it has no rows"]),
        ("\n \n", ["f.yaml:1:16: inputs.file: r.jsonl: it has no rows"]),
        ('{"n": 1}\n{"n": }\n{"n": 1}\n[', ["r.jsonl:2:7: this is not JSON: Expecting value",
                                            "r.jsonl:4:2: this is not JSON: Expecting value"]),
        ('{"n": 1}\n{"n": 1}', ["r.jsonl:2: n: 1 is the id of line 1 too"]),
        ('{"n": 1}\n{"m": 1}', ["r.jsonl:2: n: is missing; did you mean `m`?"]),
        ('{"n": 1}\n\n3', ["r.jsonl:3: an input is a mapping, or text"]),
    ],
)  # fmt: skip
def test_what_is_wrong_in_json_lines_names_the_line(
    tmp_path: Path, content: str, wanted: list[str]
) -> None:
    found = problems(tmp_path, "{file: r.jsonl, id: n}", r_jsonl=content)
    assert [each.replace("known: m", "did you mean `m`?") for each in found] == wanted


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("", ["f.yaml:1:16: inputs.file: r.csv: it has no rows"]),
        ("n,t\n", ["f.yaml:1:16: inputs.file: r.csv: it has no rows"]),
        ("n,t,n\n1,2,3\n", ["r.csv:1: n: this column is there twice"]),
        ('n,t\n1,"x\ny"\n2\n', ["r.csv:4: 1 columns, and the header has 2"]),
        ("n,t\n1,a\n1,b\n", ["r.csv:3: n: '1' is the id of line 2 too"]),
        ("n,t\n,b\n", ["r.csv:2: n: an id is text or a whole number, not ''"]),
        ('n,t\n1,"a\n', ["r.csv:2: this is not CSV: unexpected end of data"]),
    ],
)
def test_what_is_wrong_in_csv_names_the_line(
    tmp_path: Path, content: str, wanted: list[str]
) -> None:
    assert problems(tmp_path, "{file: r.csv, id: n}", r_csv=content) == wanted


def test_files_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes(b"id\n\xff\n")
    assert problems(tmp_path, "{file: r.csv}") == ["r.csv:2:1: it is not UTF-8; save it as such"]
    assert problems(tmp_path, "{glob: r.csv}") == ["r.csv:2:1: it is not UTF-8; save it as such"]


def test_equal_inputs_have_equal_digests(tmp_path: Path) -> None:
    one, same = (
        load(tmp_path, text) for text in ("[{id: x, a: 1, b: 2}]", "[{b: 2, a: 1, id: x}]")
    )
    other = load(tmp_path, "[{id: x, a: 1, b: 3}]")
    assert one.digest == same.digest != other.digest
    assert one[0].digest == same[0].digest != other[0].digest


def test_few_inputs_are_kept_by_the_run(tmp_path: Path) -> None:
    found = load(tmp_path, "{file: r.csv}", r_csv="id,t\na,1\n")
    (tmp_path / "r.csv").unlink()
    again = Inputs.again(json.loads(json.dumps(found.keep())))
    assert (rows(again), again.digest) == (rows(found), found.digest)


def test_many_inputs_stay_in_their_file_which_must_not_change(tmp_path: Path) -> None:
    content = "id,t\n" + "".join(f"{n},{'x' * 1000}\n" for n in range(1200))
    found = load(tmp_path, "{file: r.csv}", r_csv=content)
    kept = json.loads(json.dumps(found.keep()))
    assert len(json.dumps(kept)) < 1000
    assert rows(Inputs.again(kept)) == rows(found)
    (tmp_path / "r.csv").write_text(content + "new,y\n")
    with pytest.raises(BadSpec, match="inputs: these inputs have changed since the run began"):
        Inputs.again(kept)
