"""`fanwise map`, and `map:` in a file.

Everything heavy is imported where it is used: `fanwise runs` asks this system how far its runs are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fanwise.lines.options import OPTIONS

if TYPE_CHECKING:
    from fanwise.core.counts import Counts
    from fanwise.journal.port import Journal, RunRecord
    from fanwise.lines.run.execution import RunnableLines
    from fanwise.specs import Document

KEY = "map"


class LinesSystem:
    """A command for each line."""

    name = KEY
    options = OPTIONS
    records_inputs = True

    def runnable(self, document: Document) -> RunnableLines:
        """A file, checked completely."""
        from fanwise.lines.run.execution import RunnableLines
        from fanwise.lines.spec.map_file import read_map_file

        spec, file = read_map_file(document, KEY)
        return RunnableLines(spec, file=file)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its files."""
        from fanwise.lines.spec.map_file import MapFields
        from fanwise.specs.schema import schema_of

        return schema_of(MapFields, self.name)

    def from_command_line(
        self, command: Sequence[str], fd: int, *, quiet: bool = False, **options: Any
    ) -> RunnableLines:
        """A command and the options of `fanwise map`; the lines come from the descriptor."""
        from fanwise.lines.run.execution import RunnableLines
        from fanwise.lines.spec.map_spec import MapSpec

        if "joblog" in options:
            options["joblog"] = os.path.abspath(options["joblog"])  # noqa: PTH100
        spec = MapSpec(argv=[*command], cwd=os.getcwd(), **options)  # noqa: PTH109
        return RunnableLines(spec.check(), fd=fd, quiet=quiet)

    def resume(self, spec: Mapping[str, Any], input: Sequence[str] = ()) -> RunnableLines:  # noqa: A002
        """A recorded run; with an `input`, its lines are read again."""
        from fanwise.errors import UsageError
        from fanwise.lines.run.execution import RunnableLines
        from fanwise.lines.spec.map_spec import MapSpec, open_input

        if len(input) > 1:
            raise UsageError("--input is given twice", "Name one file")
        fd = open_input(input[0]) if input else None
        return RunnableLines(MapSpec.from_json(spec), fd=fd)

    def whole_value(self, journal: Journal, run: RunRecord, path: str, key: str, value: Any) -> Any:
        """With the command: the journal has its line."""
        from fanwise.lines.views.text import command_of

        return {**(value or {}), "command": command_of(journal, run, path, key)}

    def count(self, journal: Journal, run: RunRecord) -> Counts:
        """In lines, or in commands if each gets several lines."""
        from fanwise.lines.state.counts import count_now

        return count_now(journal, run)


SYSTEM = LinesSystem()
