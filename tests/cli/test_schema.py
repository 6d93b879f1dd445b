"""`fanwise schema`: what good files pass, and bad ones do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from fanwise.specs import read
from fanwise.specs.read import parse
from fanwise.specs.registry import names, system
from tests.cli.support import Place
from tests.docs.test_examples import PAGES, ROOT, blocks_of

SITE = "https://fanwise.github.io/fanwise/latest/schemas/"


@pytest.fixture(scope="module")
def schemas() -> dict[str, Draft202012Validator]:
    systems: dict[str, Any] = {name: system(name) for name in names()}
    found = {name: each.schema() for name, each in systems.items()}
    for schema in found.values():
        Draft202012Validator.check_schema(schema)
    return {name: Draft202012Validator(schema) for name, schema in found.items()}


def test_every_file_of_the_docs_and_the_examples_is_good(
    schemas: dict[str, Draft202012Validator], tmp_path: Path
) -> None:
    texts = [b.text for page in PAGES for b in blocks_of(page) if b.language == "yaml"]
    texts += [path.read_text() for path in (ROOT / "examples").glob("*.yaml")]
    seen = set()
    for text in texts:
        (tmp_path / "file.yaml").write_text(text)
        data = read(tmp_path / "file.yaml").data
        for kind in data.keys() & schemas.keys():
            seen.add(kind)
            assert [e.message for e in schemas[kind].iter_errors(data)] == [], text
    assert seen == {"map", "matrix", "optimize", "plan", "sample", "workflow"}


def parsed(text: str) -> Any:
    return parse(text.encode(), "file.yaml", Path()).data


MATRIX = "{models: 'sim:a', prompts: p, inputs: [x]"


@pytest.mark.parametrize(
    ("kind", "text", "where"),
    [
        ("matrix", f"matrix: {MATRIX}, repaet: 2}}", "matrix"),
        ("matrix", f"matrix: {MATRIX}, repeat: 0}}", "matrix/repeat"),
        ("matrix", f"matrix: {MATRIX}, budget: {{euro: 5}}}}", "matrix/budget"),
        ("sample", "sample: {prompt: hello}", "sample"),
        ("map", "map: {command: [echo], input: a.txt, cap: many}", "map/cap"),
        ("workflow", "{workflow: {id: a, name: A}, steps: [{id: s, type: shell}]}", "steps/0"),
        (
            "workflow",
            "{workflow: {id: a, name: A}, steps: [{id: i, type: if, condition: x,"
            " then: [{id: s, type: shell, run: ls, tiemout: 3}]}]}",
            "steps/0/then/0",
        ),
    ],
)
def test_a_wrong_field_is_found_where_it_is(
    schemas: dict[str, Draft202012Validator], kind: str, text: str, where: str
) -> None:
    errors = list(schemas[kind].iter_errors(parsed(text)))
    places = {"/".join(map(str, e.absolute_path)) for e in errors}
    assert places == {where}


@pytest.mark.parametrize(
    "text",
    [
        f"matrix: {MATRIX}, retry: 3, timeout: 1m30s, score: {{exact: input.a}}, on: ray}}",
        "matrix: {models: [{name: 'sim:a'}], prompts: {a: text}, inputs: {file: a.csv}}",
        "sample: {model: 'sim:a', prompt: p, requirements: [a, {regex: a}], strategy: majority}",
        "map: {command: [echo], input: a.txt, on: {address: ray, memory: 2GB}}",
    ],
)
def test_shorter_forms_are_good(schemas: dict[str, Draft202012Validator], text: str) -> None:
    data = parsed(text)
    assert list(schemas[next(iter(data))].iter_errors(data)) == []


def test_the_command_prints_the_kinds_or_one_schema(place: Place) -> None:
    assert place.run("schema").stdout.decode().split() == names()
    schema = msgspec.json.decode(place.run("schema", "matrix").stdout)
    field = schema["$defs"]["MatrixSpec"]["properties"]["failed_as"]
    assert "left out of means" in field["description"]
    wrong = place.run("schema", "matrx")
    assert wrong.returncode == 2 and b"did you mean" in wrong.stderr


def test_examples_name_the_schema_of_their_kind() -> None:
    for path in (ROOT / "examples").glob("*.yaml"):
        kind = next(iter(read(path).data.keys() & set(names())))
        first = path.read_text().splitlines()[0]
        assert first == f"# yaml-language-server: $schema={SITE}{kind}.json"
