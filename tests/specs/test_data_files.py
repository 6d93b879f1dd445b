"""Rows of every kind of data file, and how some of them are chosen."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from fanwise.errors import BadSpec
from fanwise.specs import Document, Inputs, InputsSpec

ROWS = [{"id": "a", "n": 1}, {"id": "b", "n": 2}, {"id": "c", "n": 3}]
WRITTEN = {
    "r.json": json.dumps(ROWS),
    "r.jsonl": "".join(json.dumps(each) + "\n" for each in ROWS),
    "r.yaml": "- {id: a, n: 1}\n- id: b\n  n: 2\n- {id: c, n: 3}\n",
    "r.yml": json.dumps(ROWS),
}


def load(folder: Path, given: Any) -> Inputs:
    document = Document.of_program("program", folder, {"inputs": given})
    return InputsSpec.model_validate(given).load(document.at("inputs"))


def data(inputs: Inputs) -> list[dict[str, Any]]:
    return [each.data for each in inputs]


def wrong(folder: Path, given: Any) -> str:
    with pytest.raises(BadSpec) as caught:
        load(folder, given)
    return str(caught.value)


@pytest.mark.parametrize("name", WRITTEN)
def test_files_of_data_have_the_same_rows_in_every_format(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(WRITTEN[name])
    assert data(load(tmp_path, name)) == ROWS


@pytest.mark.parametrize(("name", "between"), [("r.csv", ","), ("r.tsv", "\t")])
def test_columns_of_text_are_text(tmp_path: Path, name: str, between: str) -> None:
    lines = [("id", "t"), ("a", 'x,"y"'), ("b", "z")]
    quoted = [between.join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in line)
              for line in lines]  # fmt: skip
    (tmp_path / name).write_text("\n".join(quoted))
    assert data(load(tmp_path, name)) == [{"id": "a", "t": 'x,"y"'}, {"id": "b", "t": "z"}]


def test_parquet_rows_are_plain_data(tmp_path: Path) -> None:
    table = pyarrow.table(
        {"id": ["a", "b"], "day": [date(2024, 1, 2), None], "tags": [["x"], []],
         "blob": [b"\0\1", None]}
    )  # fmt: skip
    parquet.write_table(table, tmp_path / "r.parquet")
    assert data(load(tmp_path, "r.parquet")) == [
        {"id": "a", "day": "2024-01-02", "tags": ["x"], "blob": "AAE="},
        {"id": "b", "day": None, "tags": [], "blob": None},
    ]
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    assert "broken.parquet: cannot be read" in wrong(tmp_path, "broken.parquet")


def test_a_dataset_of_the_hub_is_read_split_by_split(tmp_path: Path) -> None:
    folder = tmp_path / "squad" / "data"
    folder.mkdir(parents=True)
    for number, row in enumerate(ROWS):
        name = "test-00000-of-00001" if number == 2 else f"train-0000{number}-of-00002"
        parquet.write_table(pyarrow.Table.from_pylist([row]), folder / f"{name}.parquet")
    assert data(load(tmp_path, "squad/data/train-*.parquet")) == ROWS[:2]
    told = wrong(tmp_path, "squad")
    assert "it has test, train: give one of them, as PATH/data/test-*.parquet" in told
    (folder / "test-00000-of-00001.parquet").unlink()
    assert data(load(tmp_path, {"file": "squad"})) == ROWS[:2]


def save_to_disk(folder: Path, parts: list[list[dict[str, Any]]], **more: Any) -> None:
    """As `Dataset.save_to_disk` lays it out: Arrow streams, and a state that names them."""
    folder.mkdir(parents=True)
    names = [f"data-{n:05}-of-{len(parts):05}.arrow" for n in range(len(parts))]
    for name, part in zip(names, parts, strict=True):
        table = pyarrow.Table.from_pylist(part)
        with pyarrow.ipc.new_stream(folder / name, table.schema) as stream:
            stream.write_table(table)
    state = {"_data_files": [{"filename": name} for name in names], "_split": None, **more}
    (folder / "state.json").write_text(json.dumps(state))


def test_a_dataset_that_was_saved_to_disk(tmp_path: Path) -> None:
    save_to_disk(tmp_path / "all" / "train", [ROWS[:1], ROWS[1:]])
    save_to_disk(tmp_path / "all" / "test", [ROWS[:1]])
    assert data(load(tmp_path, "all/train")) == ROWS
    assert "it has several splits: give one of test, train, as PATH/test" in wrong(tmp_path, "all")
    save_to_disk(tmp_path / "some", [ROWS], _indices_files=[{"filename": "indices.arrow"}])
    assert "flatten_indices()" in wrong(tmp_path, "some")  # not all rows, silently


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("r.json", '{"a": 1}', "r.json:1: a file with inputs is a list of them"),
        ("r.json", '[{"id": 1},\n {"id": }]', "r.json:2:9: this is not JSON"),
        ("r.json", '[{"id": "a"}, {"id": "a"}]', "id: row 2: 'a' is the id of input 0 too"),
        ("r.yaml", "a: 1", "r.yaml:1: a file with inputs is a list of them"),
        ("r.yaml", "- {id: a}\n- {id: a}\n", "r.yaml:2: id: 'a' is the id of line 1 too"),
        ("r.yaml", "- a: [\n", "r.yaml:"),
        ("r.yaml", "", "it has no rows"),
        ("r.txt", "a", "ends with one of .jsonl, .json, .csv, .tsv, .yaml, .yml, .parquet"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    assert told in wrong(tmp_path, name)


def test_a_folder_without_a_dataset_is_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("a")
    assert "`folder: …` makes an input of each file" in wrong(tmp_path, "texts")
    assert "no file matches" in wrong(tmp_path, "texts/*.csv")


def test_where_keeps_what_it_is_true_of_under_the_same_ids(tmp_path: Path) -> None:
    rows = [{"n": n, "lang": "en" if n % 2 else "de"} for n in range(6)]
    found = load(tmp_path, {"items": rows, "where": "input.lang == 'en' and input.n > 1"})
    assert [(each.id, each.data["n"]) for each in found] == [("3", 3), ("5", 5)]
    assert "'missing'" in wrong(tmp_path, {"items": rows, "where": "input.missing"})
    hostile = "input.__class__.__mro__[1].__subclasses__()"
    assert "__class__" in wrong(tmp_path, {"items": rows, "where": hostile})


@given(st.integers(1, 40), st.data())
def test_take_is_a_sample_in_order_and_the_same_for_a_seed(
    total: int, drawn: st.DataObject
) -> None:
    take = drawn.draw(st.integers(1, total))
    seed = drawn.draw(st.none() | st.integers(0, 1000))
    given_: dict[str, Any] = {"items": [{"n": n} for n in range(total)], "take": take}
    given_ |= {} if seed is None else {"seed": seed}
    chosen = [each.data["n"] for each in load(Path(), given_)]
    assert chosen == sorted(set(chosen)) and len(chosen) == take
    assert chosen == [each.data["n"] for each in load(Path(), given_)]
    if seed is None:
        assert chosen == list(range(take))


def test_seeds_differ_and_every_input_has_its_chance(tmp_path: Path) -> None:
    rows = [{"n": n} for n in range(20)]
    samples = [
        tuple(each.id for each in load(tmp_path, {"items": rows, "take": 5, "seed": seed}))
        for seed in range(40)
    ]
    assert len(set(samples)) > 35
    assert {each for sample in samples for each in sample} == {str(n) for n in range(20)}


def test_what_was_chosen_is_kept_with_the_run(tmp_path: Path) -> None:
    text = "".join(json.dumps({"n": n, "text": "x" * 2000}) + "\n" for n in range(2000))
    (tmp_path / "r.jsonl").write_text(text)
    found = load(tmp_path, {"file": "r.jsonl", "where": "input.n % 2", "take": 900, "seed": 3})
    kept = found.keep()
    assert "rows" not in kept  # too many to be kept themselves
    assert Inputs.again(kept).digest == found.digest and len(found) == 900
