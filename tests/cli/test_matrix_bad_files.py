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
  models: [openai:gpt-5-mini]
  inputs: {file: in.jsonl, id: id}
  repeat: 2
  prompts:
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
    ("  repeat: 2", "  temperature: [0, 1]", "5:3: matrix.temperature: is not known here"),
    ("repeat: 2", "repeats: 2", "5:3: matrix.repeats: is not known here; did you mean `rep"),
    ("repeat: 2", "repeat: two", "5:11: matrix.repeat: must be a whole number, not 'two'"),
    ("repeat: 2", "repeat: 0", "5:11: matrix.repeat: must be at least 1, not 0"),
    ("  models: [openai:gpt-5-mini]\n", "", "7:7: matrix.prompts.one: it needs a model"),
    ("openai:gpt", "opnai:gpt", "3:12: matrix.models[0]: 'opnai:gpt-5-mini' has the unknown"),
    ("openai:gpt-5", "gpt-5", "3:12: matrix.models[0]: 'gpt-5-mini' has no provider"),
    ("openai:gpt-5-mini", "mistral:m", "3:12: matrix.models[0]: mistral:m cannot be used"),
    ("mini]", "mini, openai:gpt-5-mini]", "3:31: matrix.models[1]: 'openai:gpt-5-mini' is the"),
    # inputs
    (f"  inputs: {INPUT}\n", "", "2:3: matrix.inputs: is missing"),
    (INPUT, "[]", "4:11: matrix.inputs: there are no inputs"),
    (INPUT, "[{id: a}, {id: a}]", "4:26: matrix.inputs[1].id: 'a' is the id of input 0 too"),
    ("in.jsonl", "none.jsonl", "4:18: matrix.inputs.file: none.jsonl: cannot be read"),
    ("in.jsonl", "empty.jsonl", "4:18: matrix.inputs.file: empty.jsonl: it has no rows"),
    ("in.jsonl", "header.csv", "4:18: matrix.inputs.file: header.csv: it has no rows"),
    ("in.jsonl", "in.txt", "4:18: matrix.inputs.file: in.txt: the name of a file with inputs"),
    ("in.jsonl", "broken.jsonl", "broken.jsonl:3:8: this is not JSON"),
    ("in.jsonl", "ragged.csv", "ragged.csv:3: 2 columns, and the header has 3"),
    ("in.jsonl", "twice.jsonl", "twice.jsonl:3: id: 'a' is the id of line 1 too"),
    ("id: id", "id: nr", "4:32: matrix.inputs.id: in.jsonl has no 'nr'; known: id, label, tex"),
    ("id: id}", "id: id, take: 3}", "4:42: matrix.inputs.take: there are 2 inputs to take 3 from"),
    ("id: id}", "id: id, seed: 3}", "4:11: matrix.inputs: `seed` goes with `take`"),
    ("id: id}", "id: id, where: input.}", "4:43: matrix.inputs.where: it cannot be read: expect"),
    ("id: id}", "id: id, where: input.no}", "4:43: matrix.inputs.where: input 'a': 'dict object"),
    ("id: id}", "id: id, where: input.id > 'b'}", "4:43: matrix.inputs.where: no input is like th"),
    (INPUT, "none.jsonl", "4:11: matrix.inputs: none.jsonl: cannot be read"),
    (INPUT, "{folder: none}", "4:20: matrix.inputs.folder: there is no folder 'none'"),
    # strategies
    ("input.text", "input.txt", "8:15: matrix.prompts.one.prompt: there is no `input.txt`; di"),
    ("input.text", "text", "8:15: matrix.prompts.one.prompt: there is no `text`; known: input"),
    ("input.text }}", "input.text", "8:15: matrix.prompts.one.prompt: the template cannot be"),
    (PROMPT, "prompt: |\n        One\n        {{ inptu.text }}", "10: matrix.prompts.one.promp"),
    (PROMPT, f"{PROMPT}\n      constant: 1", "8:7: matrix.prompts.one: a strategy has one of"),
    (PROMPT, f"{PROMPT}\n      schema: {{type: odd}}", "9:15: matrix.prompts.one.schema: not"),
    (PROMPT, f"{PROMPT}\n      sample: {{wide: 3}}", "9:16: matrix.prompts.one.sample.wide: i"),
    (PROMPT, f"{PROMPT}\n      pormpt: x", "9:7: matrix.prompts.one.pormpt: is not known here"),
    (PROMPT, "call: 'nothing:f'", "8:13: matrix.prompts.one.call: there is no module `nothing"),
    (PROMPT, "call: 'json:f'", "8:13: matrix.prompts.one.call: `json` has no `f`"),
    (PROMPT, "call: 'broken:f'", "8:13: matrix.prompts.one.call: "),
    (PROMPT, "copy: input.none", "8:13: matrix.prompts.one.copy: input 'a': the input has no"),
    (PROMPT, "steps: [{name: a, prompt: '{{ steps.b }}'}]", "8:33: matrix.prompts.one.steps[0"),
    (PROMPT, "steps: [{name: a, prompt: x}, {name: a, prompt: y}]", "8:7: matrix.prompts.one:"),
    # scores
    ("input.label", "input.lable", "10:15: matrix.score[0].exact: input 'a': the input has no"),
    ("in.jsonl", "holes.jsonl", "10:15: matrix.score[0].exact: input 'c': the input has no"),
    (SCORE, "{exactly: input.label}", "10:8: matrix.score[0].exactly: is not known here; did you"),
    (SCORE, "{exact: input.label, f1: input.label}", "10:7: matrix.score[0]: a score has one of"),
    (SCORE, f"{SCORE}\n    - {SCORE}", "11:7: matrix.score[1]: there is a score 'exact' already"),
    (SCORE, "{regex: '('}", "10:15: matrix.score[0].regex: '(' is no pattern: missing )"),
    (SCORE, "{regex: '^{{ input.label }}'}", "10:15: matrix.score[0].regex: input 'a': '^y('"),
    (SCORE, "{regex: '{{ input.none }}'}", "10:15: matrix.score[0].regex: there is no `input.none"),
    (SCORE, "{judge: Is it good?}", "10:7: matrix.score[0]: a judge needs a `model`"),
    (SCORE, "{judge: good, model: openai}", "10:28: matrix.score[0].model: 'openai' has no provid"),
    (SCORE, "{command: [no-such-program]}", "10:18: matrix.score[0].command[0]: there is no progr"),
    # limits
    ("{openai: 2}", "{anthropic: 2}", "11:21: matrix.caps.anthropic: no cell uses 'anthropic'; us"),
    ("{openai: 2}", "{openai: 0}", "11:18: matrix.caps.openai: must be at least 1, not 0"),
    ("caps: {openai: 2}", "rates: {open: {rpm: 5}}", "11:17: matrix.rates.open: no cell uses 'ope"),
    ("caps: {openai: 2}", "budget: {usd: -1}", "11:17: matrix.budget.usd: must be more than 0"),
    ("caps: {openai: 2}", "timeout: soon", "11:12: matrix.timeout: 'soon' is not a duration"),
    # which cells
    ("caps:", "exclude: [{model: 'openai:gpt-6'}]\n  caps:", "11:13: matrix.exclude[0]: no cell i"),
    ("caps:", "exclude: [{modle: '*'}]\n  caps:", "11:14: matrix.exclude[0].modle: is not known h"),
    ("caps:", "exclude: [{model: '*'}]\n  caps:", "11:12: matrix.exclude: nothing is left to run"),
    ("caps:", "include: [{input: c}]\n  caps:", "11:13: matrix.include[0]: no cell is like this:"),
    # YAML
    ("  repeat", "\trepeat", "5:1: a tab indents this line; YAML takes spaces only"),
    ("  caps:", "  name: n\n  caps:", "11:3: matrix.name: this key is there twice, and first in l"),
    ("  caps:", "  cap:", "11:3: matrix.cap: is not known here; did you mean `caps`?"),
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
        ("matrix:\n  prompts: {a: {constant: 1}}\n", "m.yaml:2:3: matrix.inputs: is missing"),
        ("matrix:\n  inputs: [x]\n", "m.yaml:2:3: matrix.prompts: is missing"),
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
