"""A small project with a run of each system, whose texts all try to be code."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cli.support import Place

SCRIPT = "<script>alert(1)</script>"
HOSTILE = f"{SCRIPT}</pre>'&"

FILES = {
    "matrix.yaml": f"""\
matrix:
  name: sentiment
  models: ["sim:small", "sim:large?seed=1"]
  inputs:
    - {{id: a, text: "I loved it {HOSTILE}", label: positive}}
    - {{id: b, text: It broke, label: negative}}
  prompts:
    plain: {{prompt: "Is it good? {{{{ input.text }}}}", schema: {{enum: [positive, negative]}}}}
    always: {{constant: "{HOSTILE}"}}
    good: {{constant: positive}}
  score: [{{exact: input.label}}]
  caps: {{sim: 2}}
  budget: {{tokens: 100000}}
""",
    "sample.yaml": f"""\
sample:
  name: "greet {HOSTILE}"
  model: sim:small
  prompt: "Say hello {HOSTILE}"
  loop_budget: 2
  concurrency_budget: 2
  requirements: [{{regex: "nothing is like this"}}]
""",
    "flow.yaml": f"""\
workflow: {{id: ship, name: "ship {SCRIPT}", version: "1.0.0"}}
steps:
  - {{id: build, type: shell, run: "printf '%s' \\"{SCRIPT}\\""}}
  - {{id: ok, type: gate, message: "Ship {SCRIPT}?", options: [approve, reject]}}
  - {{id: after, type: shell, run: "echo shipped"}}
""",
    "plan.yaml": f"""\
plan:
  name: rename
  goal: "Call it total {SCRIPT}"
  files: ["shop/**/*.py"]
  split: {{max_files: 1, min_files: 1}}
  each: {{command: "python3 rename.py {{files}}"}}
  check: "echo all is well; true"
""",
    "rename.py": """\
import pathlib, sys

for file in map(pathlib.Path, sys.argv[1:]):
    file.write_text(file.read_text().replace("sum_up", "total"))
""",
    "shop/cart/prices.py": f"def sum_up(prices): return sum(prices)  # {SCRIPT}\n",
    "shop/mail/send.py": "from shop.cart.prices import sum_up\n",
    "optimize.yaml": """\
optimize:
  target: slow.py::squares
  candidates: {files: [fast.py, wrong.py]}
  test: python3 check_slow.py
""",
    "slow.py": """\
def squares(n):
    found = []
    for k in range(n):
        found = [*found, k * k]
    return found
""",
    "check_slow.py": """\
from slow import squares

assert squares(3) == [0, 1, 4]
assert len(squares(3000)) == 3000
""",
    "fast.py": f"""\
def squares(n):
    return [k * k for k in range(n)]  # {SCRIPT}
""",
    "wrong.py": """\
def squares(n):
    return [k * k for k in range(n)] if n > 2 else [k for k in range(1, n)]
""",
}


def project(folder: Path) -> Place:
    """The files, committed."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    commit = ("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "one")
    for words in (("init", "-q"), ("add", "."), commit):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return Place(folder)


FAILS_ON_2 = f"echo '{SCRIPT}' {{}}; test {{}} != 2"
RUNS: dict[str, tuple[list[str], set[int]]] = {
    "lines": (["map", "--run", "lines", "--", "sh", "-c", FAILS_ON_2], {1}),
    "sentiment": (["run", "matrix.yaml"], {0, 1}),
    "greet": (["run", "sample.yaml", "--run", "greet"], {0, 1}),
    "flow": (["run", "flow.yaml", "--run", "flow"], {3}),
    "rename": (["run", "plan.yaml", "--yes"], {0}),
}  # fmt: skip
"""By id: the command that makes the run, and its possible exit codes."""


def make_runs(place: Place, *, apart: bool = False) -> None:
    """One of each system, but for `optimize`, which measures. `apart`: in other processes."""
    for words, codes in RUNS.values():
        done = (place.process if apart else place.run)(*words, given=b"1\n2\n3\n")
        assert done.returncode in codes, (words, done.stderr.decode())
