"""`fanwise schema`: the JSON schema of a kind of file, for editors."""

from __future__ import annotations

from typing import Annotated

import typer

from fanwise.cli.messages import print_json, print_line

HELP = """Print the JSON schema of a kind of file, for editors.

\b
  fanwise schema                  list the kinds of files
  fanwise schema matrix           print the schema of matrix files

Editors with a YAML language server complete and check a file that names its
schema in its first line:

\b
  # yaml-language-server: $schema=https://fanwise.github.io/fanwise/latest/schemas/matrix.json

A schema knows less than `fanwise check`, which also reads what a file names.
"""


def schema(
    kind: Annotated[
        str | None, typer.Argument(metavar="KIND", help="The kind. Default: list them.")
    ] = None,
) -> None:
    from fanwise.specs.registry import names, system

    if kind is None:
        for name in names():
            if hasattr(system(name), "schema"):
                print_line(name)
        return
    from fanwise.errors import UsageError

    found = getattr(system(kind), "schema", None)
    if found is None:
        raise UsageError(f"files of {kind!r} have no schema", "See: fanwise schema")
    print_json(found())
