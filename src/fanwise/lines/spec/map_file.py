"""`map:` in a file: the options of `fanwise map` under the same names, and where the lines are."""

from __future__ import annotations

from pathlib import Path

from fanwise.errors import UsageError
from fanwise.lines.spec.map_spec import MapSpec
from fanwise.specs import Document, Duration, Many, SpecModel, check
from fanwise.specs.place import PlaceSpec


class MapFields(SpecModel):
    """The fields of `map:`."""

    command: Many[str]
    """The words of the command; with `shell`, one line."""
    input: str
    """The file with the lines, relative to this file."""
    shell: bool = False
    cap: int = 10
    halt: str = "never"
    retry: int = 0
    timeout: Duration | None = None
    key: bool = False
    null: bool = False
    lines: int = 1
    tag: bool = False
    joblog: str | None = None
    on: PlaceSpec | None = None


def read_map_file(document: Document, key: str) -> tuple[MapSpec, Path]:
    """The command, and the file with its lines. `BadSpec`."""
    fields = check(document, MapFields, key)
    where, folder = document.at(key), document.folder
    lines = folder / fields.input
    if not lines.is_file():
        raise where.at("input").bad(f"there is no file {fields.input}")
    given = fields.model_dump(exclude={"command", "input"}, exclude_defaults=True)
    if fields.joblog is not None:
        given["joblog"] = str(folder / fields.joblog)
    spec = MapSpec(argv=[*fields.command], cwd=str(folder), **given)
    try:
        return spec.check(), lines
    except UsageError as error:
        raise where.bad(str(error)) from error
