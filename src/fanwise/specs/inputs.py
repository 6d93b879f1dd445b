"""Inputs: what a file's work is done on, in the file itself or in others beside it.

    inputs: [{id: a, text: …}, …]                 here; text alone is {text: …}
    inputs: reviews.csv                           rows of a file: CSV, TSV, JSON, YAML, Parquet
    inputs: {file: reviews.jsonl, id: number}     the same; their ids are in the column `number`
    inputs: {folder: texts, glob: "*.txt"}        files: {text, path, name}
    inputs: {file: …, where: "input.lang == 'en'", take: 100, seed: 1}      some of them

Every input has an id that is stable over resumes: its column `id` (or the one that is named), the
path of its file, or its index. They are all read at once: what is wrong shall be known before
anything is spent.
"""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from pydantic import Field, model_validator

from fanwise.errors import BadSpec, Problem
from fanwise.specs.document import Document, Where
from fanwise.specs.model import Many, SpecModel
from fanwise.specs.nearest import did_you_mean
from fanwise.specs.rows import InputRow, read_rows, read_text
from fanwise.specs.template import Condition

MOST_KEPT = 1 << 20
"""Inputs up to this many bytes are kept in the run; of larger ones, the path and the digest."""


class Input(msgspec.Struct, frozen=True):
    """One input; `data` is what templates see, including the id."""

    id: str
    data: dict[str, Any]

    @property
    def digest(self) -> str:
        """The digest of its content."""
        return hashlib.sha256(msgspec.json.encode(self.data, order="sorted")).hexdigest()


class Inputs:
    """All inputs, in order."""

    def __init__(self, rows: tuple[Input, ...], source: Mapping[str, Any]) -> None:
        self.rows = rows
        self._source = dict(source)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Input]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> Input:
        return self.rows[index]

    @cached_property
    def digest(self) -> str:
        """The digest of all of them."""
        whole = hashlib.sha256()
        for row in self.rows:
            whole.update(row.digest.encode())
        return whole.hexdigest()

    @cached_property
    def columns(self) -> frozenset[str]:
        """The names that every input has, and that templates may use."""
        every = [frozenset(row.data) for row in self.rows]
        return frozenset.intersection(*every) if every else frozenset()

    def keep(self) -> dict[str, Any]:
        """Plain data for a run's spec. Large inputs stay in their file, which must not change."""
        if self.are_kept:
            return {"rows": [[row.id, row.data] for row in self.rows]}
        return {**self._source, "digest": self.digest}

    @property
    def are_kept(self) -> bool:
        """Whether a run keeps them itself."""
        return len(msgspec.json.encode([[row.id, row.data] for row in self.rows])) <= MOST_KEPT

    @staticmethod
    def again(kept: Mapping[str, Any]) -> Inputs:
        """From what `keep` returned. `BadSpec` if their file has changed."""
        if "rows" in kept:
            return Inputs(tuple(Input(name, data) for name, data in kept["rows"]), {})
        document = Document(kept["name"], Path(kept["folder"]), {})
        where = document.at(*kept["path"])
        found = InputsSpec.model_validate(kept["inputs"]).load(where)
        if found.digest != kept["digest"]:
            raise where.bad("these inputs have changed since the run began")
        return found


class InputsSpec(SpecModel):
    """A list, or a mapping that says where the inputs are."""

    items: Many[Any] | None = None
    file: str | None = None
    folder: str | None = None
    glob: str | None = None
    id: str | None = Field(default=None, min_length=1)
    where: str | None = None
    """An expression: only inputs of which it is true."""
    take: int | None = Field(default=None, ge=1)
    """So many of them: the first, or by chance if there is a `seed`."""
    seed: int | None = Field(default=None, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"file": given}
        return {"items": given} if isinstance(given, list) else given

    @model_validator(mode="after")
    def _one_source(self) -> InputsSpec:
        files = self.folder is not None or self.glob is not None
        if (self.items is not None) + (self.file is not None) + files != 1:
            raise ValueError("give a list, or one of `items`, `file` and `glob` (with `folder`)")
        if files and self.id is not None:
            raise ValueError("the id of a file is its path; leave `id` out")
        if self.seed is not None and self.take is None:
            raise ValueError("`seed` goes with `take`")
        return self

    def load(self, where: Where) -> Inputs:
        """Read them; `where` is the place of this spec in its document. `BadSpec`."""
        if self.items is not None:
            rows = _listed(self.items, self.id, where)
        elif self.file is not None:
            rows = _of_file(self.file, self.id, where)
        else:
            rows = _of_folder(self.folder or ".", self.glob or "*", where)
        return Inputs(tuple(self._chosen(rows, where)), self._source(where))

    def _chosen(self, rows: list[Input], where: Where) -> list[Input]:
        """Those that are wanted, in their order. Ids are those of the whole, so they stay."""
        if self.where is not None:
            wanted = Condition(self.where, where.at("where"))
            rows = [row for row in rows if wanted(row.id, input=row.data)]
            if not rows:
                raise where.at("where").bad("no input is like this")
        if self.take is None:
            return rows
        if self.take > len(rows):
            raise where.at("take").bad(f"there are {len(rows)} inputs to take {self.take} from")
        if self.seed is None:
            return rows[: self.take]
        chosen = Random(self.seed).sample(range(len(rows)), self.take)
        return [rows[index] for index in sorted(chosen)]

    def _source(self, where: Where) -> dict[str, Any]:
        return {
            "name": where.document.name,
            "folder": str(where.document.folder),
            "path": list(where.path),
            "inputs": self.model_dump(mode="json", exclude_unset=True),
        }


def _listed(items: tuple[Any, ...], column: str | None, where: Where) -> list[Input]:
    shorthand = isinstance(_value(where), list)
    inside = where if shorthand else where.at("items")
    if not items:
        raise inside.bad("there are no inputs")

    def problem(index: int, name: str, message: str) -> Problem:
        path = (*inside.path, index, *([name] if name else []))
        return where.document.problem(path, message)

    rows, problems = _identified([InputRow(0, item) for item in items], column, problem)
    if problems:
        raise BadSpec(where.document.name, problems)
    return rows


def _of_file(file: str, column: str | None, where: Where) -> list[Input]:
    name = _shown(where, file)
    inside = where if isinstance(_value(where), str) else where.at("file")
    try:
        found = read_rows(where.document.folder / file, name)
    except BadSpec as error:
        if any(problem.line for problem in error.problems):
            raise
        # Not a line of the file but the file itself: the place is where it is named.
        raise inside.bad(f"{file}: {error.problems[0].message}") from None
    if column is not None and not any(column in row.value for row in found if _is_row(row)):
        every = [key for row in found[:1] if _is_row(row) for key in row.value]
        raise where.at("id").bad(f"{file} has no {column!r}{did_you_mean(column, every)}")

    def problem(index: int, name: str, message: str) -> Problem:
        line = found[index].line
        return Problem(line or None, None, name, message if line else f"row {index + 1}: {message}")

    rows, problems = _identified(found, column, problem)
    if problems:
        raise BadSpec(name, problems)
    return rows


def _of_folder(folder: str, pattern: str, where: Where) -> list[Input]:
    base = where.document.folder / folder
    if not base.is_dir():
        raise where.at("folder").bad(f"there is no folder {folder!r}")
    found = sorted(glob.glob(pattern, root_dir=base, recursive=True))  # noqa: PTH207 - `root_dir`
    files = [name for name in found if (base / name).is_file()]
    if not files:
        raise where.at("glob").bad(f"no file matches {pattern!r}")
    return [_of_text(base, name, _shown(where, str(Path(folder) / name))) for name in files]


def _of_text(base: Path, name: str, shown: str) -> Input:
    text = read_text(base / name, shown)
    path = Path(name)
    return Input(path.as_posix(), {"text": text, "path": name, "name": path.stem, "id": name})


def _identified(
    rows: list[InputRow], column: str | None, problem: Any
) -> tuple[list[Input], list[Any]]:
    """Rows as inputs with their ids, and everything that is wrong with them."""
    result: list[Input] = []
    problems: list[Problem] = []
    first: dict[str, int] = {}
    for index, row in enumerate(rows):
        data = {"text": row.value} if isinstance(row.value, str) else row.value
        if not isinstance(data, dict):
            problems.append(problem(index, "", "an input is a mapping, or text"))
            continue
        name = data.get(column or "id", None if column else str(index))
        wrong = _wrong_id(name, data, column)
        if wrong:
            problems.append(problem(index, column or "id", wrong))
        elif str(name) in first:
            before = first[str(name)]
            where = f"line {rows[before].line}" if rows[before].line else f"input {before}"
            problems.append(problem(index, column or "id", f"{name!r} is the id of {where} too"))
        else:
            first[str(name)] = index
            result.append(Input(str(name), {**data, "id": str(name)}))
    return result, problems


def _is_row(row: InputRow) -> bool:
    return isinstance(row.value, dict)


def _wrong_id(name: Any, data: Mapping[str, Any], column: str | None) -> str:
    if column is not None and column not in data:
        return f"is missing{did_you_mean(column, data)}"
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        return f"an id is text or a whole number, not {name!r}"
    return ""


def _shown(where: Where, file: str) -> str:
    """The name of a file next to the document, for messages."""
    return str(Path(where.document.name).parent / file)


def _value(where: Where) -> Any:
    try:
        return where.document.value(where.path)
    except LookupError:
        return None  # a document that was kept without its data
