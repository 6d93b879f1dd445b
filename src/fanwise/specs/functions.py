"""`call: package.module:function`: a function of the user's, found when the file is checked.

The module is looked for in the folder of the file first, as if Python had been started there, and
then where Python looks. The folder is on the search path for that import and no longer: a file
`openai.py` beside the document must not become what fanwise itself imports later. So such a module
imports at its top what stands beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

from fanwise.kernel.sent_calls import beside_files
from fanwise.specs.document import Where
from fanwise.specs.nearest import did_you_mean


def function(text: str, where: Where) -> Callable[..., Any]:
    """The function that `package.module:function` names. `BadSpec`."""
    module_name, colon, attribute = text.partition(":")
    parts = [*module_name.split("."), *attribute.split(".")]
    if not colon or not all(part.isidentifier() for part in parts):
        raise where.bad(f"{text!r} is not a function; write `module:function`")
    found: Any = _module(module_name, where)
    for part in attribute.split("."):
        if not hasattr(found, part):
            hint = did_you_mean(part, [name for name in dir(found) if not name.startswith("_")])
            raise where.bad(f"`{module_name}` has no `{part}`{hint}")
        found = getattr(found, part)
    if not callable(found):
        raise where.bad(f"`{text}` is a {type(found).__name__}, and cannot be called")
    return found  # type: ignore[no-any-return]


def _module(name: str, where: Where) -> ModuleType:
    folder = where.document.folder
    _refuse_another(name.partition(".")[0], folder, where)
    try:
        with _searched_first(folder):
            before = {*sys.modules}
            found = import_module(name)
            _note_beside(folder, sys.modules.keys() - before)
            return found
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            place = f"in {folder} or where Python looks"
            raise where.bad(f"there is no module `{error.name}` {place}") from None
        why = f"{type(error).__name__}: {error}"
        raise where.bad(f"importing `{name}` raised {why}") from error


def _refuse_another(top: str, folder: Path, where: Where) -> None:
    """A module of that name was imported already, and it is not the one beside the file."""
    beside = [folder / f"{top}.py", folder / top / "__init__.py"]
    mine = [path.resolve() for path in beside if path.is_file()]
    there = getattr(sys.modules.get(top), "__file__", None)
    if top in sys.modules and mine and (there is None or Path(there).resolve() not in mine):
        raise where.bad(
            f"`{top}` is the name of another module too ({there}); rename {mine[0].name}"
        )


def _note_beside(folder: Path, names: Iterable[str]) -> None:
    """Workers cannot import what stands beside the file."""
    for module in [sys.modules[each] for each in names]:
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).resolve().is_relative_to(folder.resolve()):
            beside_files.append(module)


@contextmanager
def _searched_first(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
