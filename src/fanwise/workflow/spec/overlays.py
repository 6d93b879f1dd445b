"""Overlays: files that change the steps of an installed workflow, as spec-kit has them.

`.specify/workflows/ID/workflow.yml` is changed by `.specify/workflows/overlays/ID/*.yml`. Edits
name steps of the workflow itself, never steps of another overlay. Of two overlays that decide on
the same step, the one with the lower `priority` counts; of equals, the one whose id comes last.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, model_validator

from fanwise.errors import BadSpec
from fanwise.specs import Document, SpecModel, check, read
from fanwise.specs.nearest import did_you_mean

OPERATIONS = ("insert_after", "insert_before", "replace", "remove")
LISTS = ("then", "else", "steps", "default")
"""The fields of a step whose steps can be named; the step of a fan-out cannot."""
Steps = list[dict[str, Any]]
PlainId = Annotated[str, Field(pattern="^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]


def _priority(given: Any) -> Any:
    """As in spec-kit, what is no priority is the default."""
    try:
        found = 10 if isinstance(given, bool) else int(given)
    except (TypeError, ValueError, OverflowError):
        return 10
    return found if found >= 1 else 10


class EditSpec(SpecModel):
    """`{replace: test, step: …}`, or `{operation: replace, anchor: test, step: …}`."""

    operation: Literal["insert_after", "insert_before", "replace", "remove"]
    anchor: str = Field(min_length=1)
    step: dict[str, Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        named = [key for key in given if key in OPERATIONS] if isinstance(given, dict) else []
        if not named:
            return given
        if len(named) > 1 or "operation" in given:
            raise ValueError("an edit has one operation")
        rest = {key: value for key, value in given.items() if key != named[0]}
        return {"operation": named[0], "anchor": given[named[0]], **rest}

    @model_validator(mode="after")
    def _with_its_step(self) -> EditSpec:
        if (self.step is None) != (self.operation == "remove"):
            raise ValueError("`remove` has no `step`, and every other operation has one")
        return self


class OverlaySpec(SpecModel):
    id: PlainId
    extends: PlainId
    priority: Annotated[int, BeforeValidator(_priority)] = 10
    enabled: bool = True
    edits: list[EditSpec] = Field(min_length=1)


class _Edit(NamedTuple):
    overlay: str
    operation: str
    step: dict[str, Any]


def read_composed(path: str | Path) -> Document:
    """A file, with the overlays that its project has for it. `BadSpec`."""
    return with_overlays(read(path))


def with_overlays(document: Document) -> Document:
    """The document; if it is an installed workflow, with its overlays. `BadSpec`."""
    folder = document.folder
    if (edits_in := _folder_of(document)) is None:
        return document
    overlays = _overlays(edits_in, folder.name)
    if not overlays or not isinstance(document.data.get("steps"), list):
        return document
    steps = document.data["steps"]
    ids = [step["id"] for step in _all(steps)]
    edits: dict[str, list[_Edit]] = {}
    for file, overlay in sorted(overlays, key=lambda each: (-each[1].priority, each[1].id)):
        for number, edit in enumerate(overlay.edits):
            if edit.anchor not in ids:
                hint = did_you_mean(edit.anchor, ids)
                raise file.at("edits", number).bad(f"there is no step {edit.anchor!r}{hint}")
            made = _Edit(overlay.id, edit.operation, edit.step or {})
            edits.setdefault(edit.anchor, []).append(made)
    _check_nesting(document, steps, edits)
    data = {**document.data, "steps": [*_edited(steps, edits)]}
    return Document(document.name, folder, data)


def digests_of(document: Document) -> dict[str, str]:
    """Of the files that an installed workflow with overlays is made of, by path; else nothing."""
    folder = _folder_of(document)
    overlays = [] if folder is None else [*_files(folder)]
    files = [document.folder / "workflow.yml", *overlays] if overlays else []
    return {str(each): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def _folder_of(document: Document) -> Path | None:
    """Where the overlays of an installed workflow are."""
    folder = document.folder
    installed = Path(document.name).name == "workflow.yml" and folder.parent.name == "workflows"
    if not installed or folder.parent.parent.name != ".specify":
        return None
    return folder.parent / "overlays" / folder.name


def _files(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else ():
        if file.suffix in (".yml", ".yaml") and file.is_file():
            yield file


def _overlays(folder: Path, workflow: str) -> list[tuple[Document, OverlaySpec]]:
    found: list[tuple[Document, OverlaySpec]] = []
    for file in _files(folder):
        document = read(file)
        if file.is_symlink():
            raise document.at().bad("an overlay must not be a symbolic link")
        if document.data.get("enabled") is False:
            continue
        overlay = check(document, OverlaySpec)
        if overlay.extends != workflow:
            raise document.at("extends").bad(f"is in the folder of {workflow!r}")
        if overlay.id in [each.id for _, each in found]:
            raise document.at("id").bad(f"another overlay is {overlay.id!r} too")
        found.append((document, overlay))
    return found


def _lists(step: dict[str, Any]) -> Iterator[Steps]:
    """The lists of steps in a step."""
    cases = step.get("cases")
    for found in (*map(step.get, LISTS), *(cases.values() if isinstance(cases, dict) else ())):
        if isinstance(found, list):
            yield found


def _all(steps: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for step in steps:
        if isinstance(step, dict) and isinstance(step.get("id"), str):
            yield step
            for inner in _lists(step):
                yield from _all(inner)


def _fate(edits: Sequence[_Edit]) -> _Edit:
    """What becomes of the step: the last edit decides.

    An insertion beside a replacement in one overlay does not undo the replacement.
    """
    last = edits[-1]
    own = [each for each in edits if each.overlay == last.overlay]
    if last.operation.startswith("insert") and not any(e.operation == "remove" for e in own):
        return next((e for e in reversed(own) if e.operation == "replace"), last)
    return last


def _check_nesting(document: Document, steps: Steps, edits: dict[str, list[_Edit]]) -> None:
    for step in _all(steps):
        fate = _fate(edits[step["id"]]).operation if step["id"] in edits else ""
        if fate in ("replace", "remove"):
            inside = {each["id"] for inner in _lists(step) for each in _all(inner)} & edits.keys()
            if inside:
                told = f"an overlay edits {min(inside)!r}, in {step['id']!r}, which another edit"
                problem = document.problem(("steps",), f"{told} {fate}s")
                raise BadSpec(document.name, [problem])


def _edited(steps: Steps, edits: dict[str, list[_Edit]]) -> Iterator[dict[str, Any]]:
    for step in steps:
        own = edits.get(step["id"], []) if isinstance(step, dict) and "id" in step else []
        fate = _fate(own) if own else None
        if fate is not None and fate.operation == "remove":
            continue
        yield from (edit.step for edit in own if edit.operation == "insert_before")
        replaced = fate is not None and fate.operation == "replace"
        yield fate.step if fate is not None and replaced else _inside_edited(step, edits)
        after = [edit for edit in own if edit.operation == "insert_after"]
        # The overlay that counts most stands next to the step; its own edits keep their order.
        for name in reversed(dict.fromkeys(edit.overlay for edit in after)):
            yield from (edit.step for edit in after if edit.overlay == name)


def _inside_edited(step: Any, edits: dict[str, list[_Edit]]) -> Any:
    if not isinstance(step, dict):
        return step
    made = {
        key: [*_edited(value, edits)] if key in LISTS and isinstance(value, list) else value
        for key, value in step.items()
    }
    if isinstance(step.get("cases"), dict):
        made["cases"] = {
            name: [*_edited(each, edits)] if isinstance(each, list) else each
            for name, each in step["cases"].items()
        }
    return made
