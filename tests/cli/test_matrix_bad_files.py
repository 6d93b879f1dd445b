"""What people get wrong in a `matrix:` file: it is told with its place, and nothing is spent."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanwise.cli.app import run

GOOD = """\
matrix:
  name: m
  axes:
    model: [openai:gpt-5-mini]
    strategy: [one]
    input: {file: in.jsonl, id: id}
    repeat: 2
  strategies:
    one:
      prompt: "Say {{ input.text }}"
  score:
    - {exact: input.label}
  caps: {openai: 2}
"""
PROMPT = 'prompt: "Say {{ input.text }}"'
SCORE = "{exact: input.label}"
INPUT = "{file: in.jsonl, id: id}"
ROWS = '{"id": "a", "text": "x", "label": "y("}\n{"id": "b", "text": "x", "label": "y"}\n'
FILES = {
    "in.jsonl": ROWS,
    "twice.jsonl": ROWS + ROWS,
    "holes.jsonl": ROWS + '{"id": "c", "text": "x"}\n',
    "broken.jsonl": ROWS + '{"id": \n',
    "ragged.csv": "id,text,label\na,x,y\nb,x\n",
    "empty.jsonl": "",
    "header.csv": "id,text,label\n",
    "in.txt": "x",
    "broken.py": "def f(:\n",
}

BAD = [
    # axes
    ("    repeat: 2", "    temperature: [0, 1]", "7:5: matrix.axes.temperature: is not known here"),
    ("repeat: 2", "repeats: 2", "7:5: matrix.axes.repeats: is not known here; did you mean `rep"),
    ("repeat: 2", "repeat: two", "7:13: matrix.axes.repeat: must be a whole number, not 'two'"),
    ("repeat: 2", "repeat: 0", "7:13: matrix.axes.repeat: must be at least 1, not 0"),
    ("[one]", "[two]", "5:16: matrix.axes.strategy[0]: there is no strategy 'two'; there are: one"),
    ("[one]", "[one, one]", "5:21: matrix.axes.strategy[1]: 'one' is there twice"),
    ("    model: [openai:gpt-5-mini]\n", "", "4:5: matrix.axes: strategy 'one' needs a model"),
    ("openai:gpt", "opnai:gpt", "4:13: matrix.axes.model[0]: 'opnai:gpt-5-mini' has the unknown"),
    ("openai:gpt-5", "gpt-5", "4:13: matrix.axes.model[0]: 'gpt-5-mini' has no provider"),
    ("openai:gpt-5-mini", "mistral:m", "4:13: matrix.axes.model[0]: mistral:m cannot be used"),
    ("mini]", "mini, openai:gpt-5-mini]", "4:32: matrix.axes.model[1]: 'openai:gpt-5-mini' is the"),
    # inputs
    (f"    input: {INPUT}\n", "", "4:5: matrix.axes.input: is missing"),
    (INPUT, "[]", "6:12: matrix.axes.input: there are no inputs"),
    (INPUT, "[{id: a}, {id: a}]", "6:27: matrix.axes.input[1].id: 'a' is the id of input 0 too"),
    ("in.jsonl", "none.jsonl", "6:19: matrix.axes.input.file: none.jsonl: cannot be read"),
    ("in.jsonl", "empty.jsonl", "6:19: matrix.axes.input.file: empty.jsonl: it has no rows"),
    ("in.jsonl", "header.csv", "6:19: matrix.axes.input.file: header.csv: it has no rows"),
    ("in.jsonl", "in.txt", "6:19: matrix.axes.input.file: in.txt: the name of a file with inputs"),
    ("in.jsonl", "broken.jsonl", "broken.jsonl:3:8: this is not JSON"),
    ("in.jsonl", "ragged.csv", "ragged.csv:3: 2 columns, and the header has 3"),
    ("in.jsonl", "twice.jsonl", "twice.jsonl:3: id: 'a' is the id of line 1 too"),
    ("id: id", "id: nr", "6:33: matrix.axes.input.id: in.jsonl has no 'nr'; known: id, label, tex"),
    (INPUT, "{folder: none}", "6:21: matrix.axes.input.folder: there is no folder 'none'"),
    # strategies
    ("input.text", "input.txt", "10:15: matrix.strategies.one.prompt: there is no `input.txt`; di"),
    ("input.text", "text", "10:15: matrix.strategies.one.prompt: there is no `text`; known: input"),
    ("input.text }}", "input.text", "10:15: matrix.strategies.one.prompt: the template cannot be"),
    (PROMPT, "prompt: |\n        One\n        {{ inptu.text }}", "12: matrix.strategies.one.promp"),
    (PROMPT, f"{PROMPT}\n      constant: 1", "10:7: matrix.strategies.one: a strategy has one of"),
    (PROMPT, f"{PROMPT}\n      schema: {{type: odd}}", "11:15: matrix.strategies.one.schema: not"),
    (PROMPT, f"{PROMPT}\n      sample: {{wide: 3}}", "11:16: matrix.strategies.one.sample.wide: i"),
    (PROMPT, f"{PROMPT}\n      pormpt: x", "11:7: matrix.strategies.one.pormpt: is not known here"),
    (PROMPT, "call: 'nothing:f'", "10:13: matrix.strategies.one.call: there is no module `nothing"),
    (PROMPT, "call: 'json:f'", "10:13: matrix.strategies.one.call: `json` has no `f`"),
    (PROMPT, "call: 'broken:f'", "10:13: matrix.strategies.one.call: "),
    (PROMPT, "copy: input.none", "10:13: matrix.strategies.one.copy: input 'a': the input has no"),
    (PROMPT, "steps: [{name: a, prompt: '{{ steps.b }}'}]", "10:33: matrix.strategies.one.steps[0"),
    (PROMPT, "steps: [{name: a, prompt: x}, {name: a, prompt: y}]", "10:7: matrix.strategies.one:"),
    # scores
    ("input.label", "input.lable", "12:15: matrix.score[0].exact: input 'a': the input has no"),
    ("in.jsonl", "holes.jsonl", "12:15: matrix.score[0].exact: input 'c': the input has no"),
    (SCORE, "{exactly: input.label}", "12:8: matrix.score[0].exactly: is not known here; did you"),
    (SCORE, "{exact: input.label, f1: input.label}", "12:7: matrix.score[0]: a score has one of"),
    (SCORE, f"{SCORE}\n    - {SCORE}", "13:7: matrix.score[1]: there is a score 'exact' already"),
    (SCORE, "{regex: '('}", "12:15: matrix.score[0].regex: '(' is no pattern: missing )"),
    (SCORE, "{regex: '^{{ input.label }}'}", "12:15: matrix.score[0].regex: input 'a': '^y('"),
    (SCORE, "{regex: '{{ input.none }}'}", "12:15: matrix.score[0].regex: there is no `input.none"),
    (SCORE, "{judge: Is it good?}", "12:7: matrix.score[0]: a judge needs a `model`"),
    (SCORE, "{judge: good, model: openai}", "12:28: matrix.score[0].model: 'openai' has no provid"),
    (SCORE, "{command: [no-such-program]}", "12:18: matrix.score[0].command[0]: there is no progr"),
    # limits
    ("{openai: 2}", "{anthropic: 2}", "13:21: matrix.caps.anthropic: no cell uses 'anthropic'; us"),
    ("{openai: 2}", "{openai: 0}", "13:18: matrix.caps.openai: must be at least 1, not 0"),
    ("caps: {openai: 2}", "rates: {open: {rpm: 5}}", "13:17: matrix.rates.open: no cell uses 'ope"),
    ("caps: {openai: 2}", "budget: {usd: -1}", "13:17: matrix.budget.usd: must be more than 0"),
    ("caps: {openai: 2}", "timeout: soon", "13:12: matrix.timeout: 'soon' is not a duration"),
    # which cells
    ("caps:", "exclude: [{model: 'openai:gpt-6'}]\n  caps:", "13:13: matrix.exclude[0]: no cell i"),
    ("caps:", "exclude: [{modle: '*'}]\n  caps:", "13:14: matrix.exclude[0].modle: is not known h"),
    ("caps:", "exclude: [{model: '*'}]\n  caps:", "13:12: matrix.exclude: nothing is left to run"),
    ("caps:", "include: [{input: c}]\n  caps:", "13:13: matrix.include[0]: no cell is like this:"),
    # YAML
    ("    repeat", "\trepeat", "7:1: a tab indents this line; YAML takes spaces only"),
    ("[one]", "[one", "6:10: this is not YAML"),
    ("  caps:", "  name: n\n  caps:", "13:3: matrix.name: this key is there twice, and first in l"),
    ("  caps:", "  cap:", "13:3: matrix.cap: is not known here; did you mean `caps`?"),
    ("name: m", "name: a b", "2:9: matrix.name: "),
]  # fmt: skip


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """An address at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield listening


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANWISE_JOURNAL", raising=False)
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("verb", ["run", "check"])
@pytest.mark.parametrize(("good", "bad", "said"), BAD)
def test_a_mistake_is_told_with_its_place_and_nothing_is_spent(
    folder: Path,
    provider: socket.socket,
    capfd: pytest.CaptureFixture[str],
    good: str,
    bad: str,
    said: str,
    verb: str,
) -> None:
    """In this process: nothing is begun, so there is nothing that needs one of its own."""
    assert GOOD.count(good) == 1
    (folder / "m.yaml").write_text(GOOD.replace(good, bad))
    before = {path.name for path in folder.iterdir()}
    assert run([verb, "m.yaml"]) == 2
    told = capfd.readouterr()
    assert told.out == ""
    where = said if said.split(":")[0] in FILES else f"m.yaml:{said}"
    assert where in told.err.removeprefix("fanwise: ")
    assert "Traceback" not in told.err
    left = {path.name for path in folder.iterdir()} - {"__pycache__"}
    assert left == before
    provider.setblocking(False)
    with pytest.raises(BlockingIOError):  # nobody has connected
        provider.accept()


def test_the_file_that_these_are_made_of_is_good(folder: Path, provider: socket.socket) -> None:
    (folder / "m.yaml").write_text(GOOD)
    assert run(["check", "m.yaml"]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "m.yaml: it is empty"),
        ("- a\n- b\n", "m.yaml:1:1: a file is a mapping (`key: value`), not a list"),
        ("matrix:\n  strategies: {a: {constant: 1}}\n", "m.yaml:2:3: matrix.axes: is missing"),
        ("matrix:\n  axes: {input: [x]}\n", "m.yaml:2:3: matrix.strategies: is missing"),
        ("matrxi: {}\n", "m.yaml:1:1: "),
    ],
)
def test_a_file_that_is_no_matrix_at_all(
    folder: Path, capfd: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (folder / "m.yaml").write_text(text)
    assert run(["run", "m.yaml"]) == 2
    assert said in capfd.readouterr().err
    assert not (folder / ".fanwise").exists()
