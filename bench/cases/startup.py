"""What it costs to start: the import of the kernel, the help, and a look at a small journal.

Fresh processes with compiled files, by the processor's time, the best of several: what disturbs a
start makes it longer, never shorter. The whole process counts for a command, the statement alone
for the import.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.harness import ROOT, Row, command_cpu_s, environment, fanwise

TRIES = 20
HELP_BOUND_S = 0.3
LOOK_BOUND_S = 0.35
IMPORT_BOUND_S = 0.15
KERNEL = "from fanwise import Caps, Command, Retry, call, fan_out, fan_out_stream, open_run"
IMPORT = f"import time; t = time.process_time(); {KERNEL}; print(time.process_time() - t)"
LINES = "\n".join(map(str, range(20)))
FLOW = """\
workflow: {id: flow, name: Flow, version: 1.0.0}
steps: [{id: hi, type: shell, run: echo hi}]
"""


def measure() -> list[Row]:
    """Each against a bare `python -c pass`."""
    bare = _best([sys.executable, "-c", "pass"], str(ROOT))
    rows = [_row("from fanwise import fan_out, …", _import_s(), bare, IMPORT_BOUND_S)]
    with tempfile.TemporaryDirectory() as folder:
        _run_map(folder)
        _run_workflow(folder)
        for words, bound in (
            (["--help"], HELP_BOUND_S),
            (["runs"], LOOK_BOUND_S),
            (["show", "small"], LOOK_BOUND_S),
            (["show", "flow"], LOOK_BOUND_S),
        ):
            took = _best(fanwise(*words), folder)
            rows.append(_row(f"fanwise {' '.join(words)}", took, bare, bound))
    return rows


def _row(what: str, took: float, bare: float, bound: float) -> Row:
    return Row(
        f"startup: CPU time of {what} (best of {TRIES})",
        f"{took:.3f} s",
        f"python -c pass {bare:.3f} s",
        bound=f"<= {bound} s",
        ok=took <= bound,
    )


def _run_map(folder: str) -> None:
    """A journal with a run of 20 lines."""
    command, lines = fanwise("map", "--run", "small", "--", "echo"), LINES.encode()
    subprocess.run(
        command, cwd=folder, env=environment(), input=lines, capture_output=True, check=True
    )


def _run_workflow(folder: str) -> None:
    Path(folder, "flow.yaml").write_text(FLOW)
    command = fanwise("run", "flow.yaml", "--run", "flow")
    subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=True)


def _best(command: list[str], folder: str) -> float:
    # The first one compiles, and warms the file cache.
    return min(command_cpu_s(command, folder) for _ in range(1 + TRIES))


def _import_s() -> float:
    command = [sys.executable, "-c", IMPORT]
    outputs = (
        subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, check=True).stdout
        for _ in range(1 + TRIES)
    )
    return min(map(float, outputs))
