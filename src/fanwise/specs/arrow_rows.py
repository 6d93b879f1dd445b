"""Rows of Parquet and Arrow files, and the files of a dataset that Hugging Face wrote to disk.

Such a dataset is a folder: of Parquet files if it was downloaded from the hub, of Arrow files with
a `state.json` beside them if `save_to_disk` wrote it, or of one folder for each split.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from fanwise.specs.read import whole_file


def data_files(path: Path, name: str) -> list[Path]:
    """The files that a name stands for: itself, those that match its `*`, or those of a dataset."""
    if path.is_dir():
        return _of_dataset(path, name)
    if "*" not in path.name or path.exists():
        return [path]
    found = sorted(path.parent.glob(path.name))
    if not found:
        raise whole_file(name, "no file matches")
    return found


def _of_dataset(folder: Path, name: str) -> list[Path]:
    if (folder / "state.json").exists():
        return _saved(folder, name)
    splits = sorted(each.parent.name for each in folder.glob("*/state.json"))
    if splits:
        raise whole_file(
            name, f"it has several splits: give one of {', '.join(splits)}, as PATH/{splits[0]}"
        )
    found = sorted(folder.rglob("*.parquet"))
    if not found:
        message = "it is a folder without Parquet files; `folder: …` makes an input of each file"
        raise whole_file(name, message)
    splits = sorted({each.name.partition("-")[0] for each in found})
    if len(splits) > 1:
        example = found[0].relative_to(folder).with_name(f"{splits[0]}-*.parquet")
        raise whole_file(name, f"it has {', '.join(splits)}: give one of them, as PATH/{example}")
    return found


def _saved(folder: Path, name: str) -> list[Path]:
    try:
        state = msgspec.json.decode((folder / "state.json").read_bytes())
        files = [folder / Path(each["filename"]).name for each in state["_data_files"]]
    except (OSError, msgspec.DecodeError, LookupError, TypeError):
        raise whole_file(name, "its state.json cannot be read") from None
    if state.get("_indices_files"):
        raise whole_file(
            name, "only some of its rows were chosen: call flatten_indices() before saving it"
        )
    return files


def arrow_rows(path: Path, name: str) -> Iterator[dict[str, Any]]:
    """The rows as plain data: times as text, bytes as base64. `BadSpec`."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        message = "reading it needs pyarrow: pip install 'fanwise[parquet]'"
        raise whole_file(name, message) from None
    try:
        if path.suffix.lower() == ".parquet":
            with parquet.ParquetFile(path) as file:
                table = file.read()
        else:
            with pyarrow.OSFile(str(path)) as source:
                table = ipc.open_stream(source).read_all()
    except (OSError, pyarrow.ArrowException) as error:
        raise whole_file(name, f"cannot be read: {error}") from None
    for batch in table.to_batches():
        for row in batch.to_pylist():
            yield msgspec.to_builtins(row)
