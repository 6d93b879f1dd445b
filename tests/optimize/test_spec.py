"""The file: what may stand under `optimize:`, and how a mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.errors import BadSpec
from fanwise.optimize.spec.optimize_spec import OptimizeSpec
from fanwise.specs import check, parse

FULL = """\
optimize:
  name: faster
  repo: .
  target: src/pkg/graph.py::find
  candidates:
    files: candidates/*.patch
    branches: [perf/*]
    propose: {model: openai:gpt-5-mini, n: 8, options: {max_tokens: 2000}, timeout: 2m}
  test: pytest -q tests/test_graph.py
  bench: {calls: recorded, budget: 30s, pin: false}
  slots: 2
  rounds: {repair: 2, refine: 1}
  accept: {speedup: 1.2, confidence: 0.99}
  tolerance: {relative: 1.0e-6}
  dirty: true
  copy: [data/*.bin]
  sandbox: false
  env: [DATABASE_URL]
  timeout: 1m30s
  takes: {memory: 2GB, processes: 64, file_size: 512MiB}
  seed: 3
  caps: {openai: 4}
  budget: {usd: 2}
"""
SMALL = """\
optimize:
  target: a.py::f
  candidates: {files: "*.patch"}
  test: [pytest, -q, "a b.py"]
"""


def spec_of(text: str) -> OptimizeSpec:
    document = parse(text.encode(), "o.yaml", Path("/tmp"))
    found = check(document, OptimizeSpec, "optimize")
    found.check_together(document.at("optimize"))
    return found


def test_all_fields_are_read() -> None:
    spec = spec_of(FULL)
    assert spec.candidates.files == ("candidates/*.patch",)
    assert spec.candidates.propose is not None
    assert spec.candidates.propose.timeout == 120
    assert (spec.bench and spec.bench.budget, spec.timeout) == (30, 90)
    assert (spec.takes.memory, spec.takes.file_size) == (2 * 10**9, 512 * 2**20)
    assert spec.copy_ == ("data/*.bin",)


def test_little_is_enough() -> None:
    spec = spec_of(SMALL)
    assert spec.benched.calls == "recorded"
    assert (spec.accept.speedup, spec.accept.confidence) == (1.05, 0.95)
    assert (spec.rounds.repair, spec.rounds.refine, spec.sandbox, spec.dirty) == (0, 0, True, False)
    assert spec.test == "pytest -q 'a b.py'", "a list of words is not taken apart by a shell"


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "says"),
    [
        ("target:", "traget:", 2, "optimize.traget", "target"),
        ("files:", "file:", 3, "optimize.candidates.file", "files"),
        ('{files: "*.patch"}', "{}", 3, "optimize.candidates", "`files`, `branches` or `propose`"),
        ('[pytest, -q, "a b.py"]', "3", 4, "optimize.test", "text"),
        ("test:", "slots: 0\n  test:", 4, "optimize.slots", "at least 1"),
        ("test:", "bench: {}\n  test:", 4, "optimize.bench", "one of `calls: recorded`"),
        ("test:", "bench: {call: x}\n  test:", 4, "optimize.bench", "module:function"),
        ("test:", "bench: {calls: all}\n  test:", 4, "optimize.bench.calls", "recorded"),
        ("test:", "accept: {speedup: 0.5}\n  test:", 4, "optimize.accept.speedup", "at least 1"),
        ("test:", "rounds: {repair: 1}\n  test:", 4, "optimize.rounds", "candidates.propose"),
        ("test:", "takes: {memory: 2 GO}\n  test:", 4, "optimize.takes.memory", "2 GO"),
        ("test:", "timeout: soon\n  test:", 4, "optimize.timeout", "soon"),
        ("test:", "caps: {cpu: 8}\n  test:", 4, "optimize.caps.cpu", "slots"),
        ("target: a.py::f\n", "slots: 2\n", 2, "optimize", "without a `target`"),
        (
            '{files: "*.patch"}', "{propose: {n: 2}}", 3,
            "optimize.candidates.propose", "`model` or a `command`",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line_and_field(
    old: str, new: str, line: int, field: str, says: str
) -> None:
    assert old in SMALL
    with pytest.raises(BadSpec) as caught:
        spec_of(SMALL.replace(old, new))
    (problem,) = [each for each in caught.value.problems if each.field == field]
    assert problem.line == line
    assert says in problem.message
