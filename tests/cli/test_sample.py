"""`fanwise sample` and `fanwise run` of a `sample:` file, against a real server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from fanwise.testing import Answer, ScriptedServer
from tests.cli.support import COMMAND, Place
from tests.in_process import beside
from tests.marks import slow
from tests.models.support import HANG_S
from tests.sampling.support import is_judge, seeds, verdict

PLACES = seeds(4, 9)
FILE = """\
sample:
  name: reviews
  model: openai:gpt-5-mini
  prompt: "Is this good or bad? {{ input.text }}"
  inputs:
    - {id: a, text: lovely}
    - {id: b, text: awful}
    - {id: c, text: 'so {{ odd }}'}
  schema: {enum: [good, bad]}
  requirements:
    - The answer is right
    - {regex: '^"', description: is JSON, check_only: true}
    - {call: "checks:short", description: is short}
    - {command: [grep, -q, o], check_only: true}
    - {reward: "checks:length", at_least: 2, check_only: true}
  strategy: {majority: {repair: multi_turn}}
  loop_budget: 2
  concurrency_budget: 3
  winner: first  # no vote ends early: the server counts a closed connection later than we do
  options: {max_tokens: 50}
  caps: {openai: 2}
  budget: {usd: 1}
"""
TAKING_TURNS = """\
sample:
  model: openai:gpt-5-mini
  prompt: x
  requirements: [{regex: "^1 1$", check_only: true}]
  winner: first
  concurrency_budget: 2
  caps: {openai: 1}
"""
CHECKS = """\
def short(draft): return len(draft) < 10
def length(draft): return len(draft)
"""


def serving(
    script: Callable[[dict[str, Any]], Answer | str],
    body: Callable[[ScriptedServer], Coroutine[Any, Any, None]],
    monkeypatch: pytest.MonkeyPatch,
    within_s: float = HANG_S,
) -> None:
    async def main() -> None:
        async with ScriptedServer(script) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
            await body(server)

    beside(main(), within_s)


def command(place: Place, *args: str, given: bytes = b"") -> Any:
    return asyncio.to_thread(place.run, *args, given=given)


def good_or_bad(body: dict[str, Any]) -> str:
    if is_judge(body):
        return verdict(True)
    return '"good"' if "lovely" in body["messages"][0]["content"] else '"bad"'


def by_place(body: dict[str, Any]) -> str:
    return verdict(True) if is_judge(body) else " ".join(map(str, PLACES[body["seed"]]))


def test_one_prompt_is_sampled_until_it_is_valid(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        args = ["sample", "{{ not a template }}", "-m", "openai:gpt-5-mini", "--run", "r"]
        done = await command(place, *args, "--wide", "1", "--regex", "^0 1$", "--require", "fine")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"0 1\n", b"")
        drafts = [body for body in server.bodies if not is_judge(body)]
        assert len(drafts) == 2
        assert drafts[0]["messages"][0]["content"].startswith("{{ not a template }}")
        assert "does not match the pattern" in drafts[1]["messages"][0]["content"]
        (row,) = json.loads(place.run("runs", "--json").stdout)["runs"]
        assert (row["kind"], row["name"]) == ("sample", "{{ not a template }}")

    serving(by_place, main, monkeypatch)
    for file in place.path.rglob("*"):
        assert not file.is_file() or b"sk-secret" not in file.read_bytes()


def test_no_valid_answer_is_exit_code_1_and_the_best_is_printed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        args = ["sample", "-", "-m", "openai:gpt-5-mini", "--wide", "2", "--loop", "2"]
        done = await command(place, *args, "--regex", "never", given=b"from stdin")
        assert done.returncode == 1
        assert done.stdout == b"1 1\n"
        assert done.stderr.decode().splitlines() == [
            "fanwise: 0 of 1 valid",
            "  not valid: it does not match the pattern never",
        ]
        assert server.bodies[0]["messages"][0]["content"] == "from stdin"
        as_json = json.loads(
            (await command(place, *args, "--regex", "never", "--json", given=b"x")).stdout
        )
        assert (as_json["exit_code"], as_json["result"]["ok"]) == (1, False)
        assert [each["id"] for each in as_json["result"]["samples"]] == [1, 2, 3, 4]

    serving(by_place, main, monkeypatch)


def test_a_recorded_call_is_played_back_to_the_byte(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    results: list[bytes] = []
    # One chain: with more, what the others had got to when one wins depends on this machine.
    common = ["--wide", "1", "--regex", "^0 1$", "--json", "--run", "r"]

    async def main(server: ScriptedServer) -> None:
        args = ["sample", "x", "-m", "openai:gpt-5-mini", "--record", "tape.jsonl"]
        results.append((await command(place, *args, *common)).stdout)

    serving(by_place, main, monkeypatch)
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    args = ["sample", "x", "-m", "replay:tape.jsonl?speed=1", "--journal", "other.db", *common]
    again = place.run(*args)
    assert (again.returncode, again.stderr) == (0, b"")
    assert again.stdout == results[0]
    assert b'"text": "0 1"' in again.stdout


@pytest.fixture
def reviews(place: Place) -> Place:
    (place.path / "reviews.yaml").write_text(FILE)
    (place.path / "checks.py").write_text(CHECKS)
    return place


async def _open_when_held(server: ScriptedServer, requests: int) -> None:
    await server.gate.held(requests)
    server.gate.open()


def test_a_file_samples_each_input_in_order(
    reviews: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        told = await command(reviews, "check", "reviews.yaml")
        assert told.returncode == 0
        assert told.stdout.decode().splitlines() == [
            "reviews.yaml: sample, reviews",
            "  prompts 3",
            "  caps    openai 2",
            "  budget  1 usd",
            "  model   openai:gpt-5-mini",
            "  at most 6 samples each, 3 wide and 2 deep: 18 in all",
            "  strategy Majority, chooses among the valid samples",
            "  checked by code: matches the schema",
            "  checked by code: is JSON",
            "  checked by code: is short",
            "  checked by code: length ≥ 2",
            "  checked by a command: grep -q o",
            "  checked by a model's call: The answer is right",
        ]
        assert not server.requests
        server.gate.close()
        running = command(reviews, "run", "reviews.yaml", "--run", "r")
        done, _ = await asyncio.gather(running, _open_when_held(server, 2))
        assert done.stdout == b'a\t"good"\nb\t"bad"\nc\t"bad"\n'
        # grep finds no o in "bad": two of the three fail.
        assert done.returncode == 1
        assert done.stderr.decode().splitlines()[:2] == [
            "fanwise: 1 of 3 valid",
            "  b: the command exited with code 1",
        ]
        assert server.most_in_flight == 2
        first = [body["messages"][0]["content"] for body in server.bodies if not is_judge(body)]
        assert any(text.startswith("Is this good or bad? so {{ odd }}\n") for text in first)
        assert all("The answer is right" in text and "is JSON" not in text for text in first)
        asked = len(server.requests)
        again = await command(reviews, "resume", "r")
        assert (again.stdout, len(server.requests)) == (done.stdout, asked)

    serving(good_or_bad, main, monkeypatch)


def test_after_kill_9_a_resume_pays_for_no_recorded_sample_again(
    reviews: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FILE.replace("    - {command: [grep, -q, o], check_only: true}\n", "")
    (reviews.path / "reviews.yaml").write_text(text)
    held: list[ScriptedServer] = []

    def script(body: dict[str, Any]) -> str:
        if len(held[0].requests) == 6:
            held[0].gate.close()  # the sixth and all that come after it hang
        return good_or_bad(body)

    async def main(server: ScriptedServer) -> None:
        held.append(server)
        process = await asyncio.to_thread(
            reviews.start, "run", "reviews.yaml", "--run", "r", stderr=subprocess.DEVNULL
        )
        await server.gate.held(2)
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.wait)
        await server.idle()
        killed_at = len(server.requests)
        held[0] = ScriptedServer([])  # from now on nobody closes the gate
        server.gate.open()
        done = await command(reviews, "resume", "r")
        assert (done.returncode, done.stdout) == (0, b'a\t"good"\nb\t"bad"\nc\t"bad"\n')
        # Nine drafts, and for each of the three texts at least one judge. What was in flight
        # when it was killed is asked again, and nothing else.
        places = [
            (b["messages"][0]["content"], b["seed"]) for b in server.bodies if not is_judge(b)
        ]
        assert len(set(places)) == 9
        assert len(places) <= 9 + 2
        assert killed_at < len(server.requests)

    serving(script, main, monkeypatch)


@slow
def test_ctrl_c_twice_closes_the_requests_and_says_how_to_go_on(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        server.gate.close()
        process = await asyncio.to_thread(
            place.start, "sample", "x", "-m", "openai:gpt-5-mini", "--run", "r", "--wide", "4"
        )
        await server.gate.held(4)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        line = await asyncio.to_thread(process.stderr.readline)
        assert line == b"fanwise: finishing 1 in flight; Ctrl-C again cancels\n"
        process.send_signal(signal.SIGINT)
        await server.idle()
        assert server.disconnects == 4
        out, err = await asyncio.to_thread(process.communicate)
        assert (process.returncode, out) == (130, b"")
        told = b"fanwise: cancelled: 1 of 1 prompt not done\n  to continue: fanwise resume r\n"
        assert err.endswith(told)
        shown = await command(place, "show", "r", "--json")
        assert json.loads(shown.stdout)["status"] == "cancelled"
        server.gate.open()
        done = await command(place, "resume", "r")
        assert done.returncode == 0
        assert done.stdout in (b"0 0\n", b"1 0\n", b"2 0\n", b"3 0\n")

    serving(by_place, main, monkeypatch)


def test_show_says_which_sample_won_and_what_was_wrong_with_the_others(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a cap of 1, the chains take turns; a third sample of chain 0 would come too late."""
    (place.path / "s.yaml").write_text(TAKING_TURNS)

    def in_turn(body: dict[str, Any]) -> Answer | str:
        late = PLACES[body["seed"]] == (0, 2)
        return Answer(first_byte_s=HANG_S) if late else by_place(body)

    async def main(server: ScriptedServer) -> None:
        assert (await command(place, "run", "s.yaml", "--run", "r")).returncode == 0

    serving(in_turn, main, monkeypatch)
    lines = place.run("show", "r").stdout.decode().splitlines()
    start = lines.index("results")
    assert lines[start + 1] == "  0: valid (sample 5, of 4 that were made): 1 1"
    wrong = "not valid (it does not match the pattern ^1 1$)"
    assert lines[start + 2 : start + 6] == [
        f"      sample 1 (chain 0, iteration 0): {wrong}: 0 0",
        f"      sample 4 (chain 1, iteration 0): {wrong}: 1 0",
        f"      sample 2 (chain 0, iteration 1): {wrong}: 0 1",
        "    * sample 5 (chain 1, iteration 1): valid: 1 1",
    ]


def test_show_lets_no_answer_steer_the_terminal_and_cuts_a_long_one(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        await command(place, "sample", "x", "-m", "openai:gpt-5-mini", "--run", "r", "--wide", "1")

    serving(lambda _: "\x1b[2J" + "long " * 100, main, monkeypatch)
    shown = place.run("show", "r").stdout.decode()
    assert "\x1b" not in shown
    (line,) = (line for line in shown.splitlines() if line.startswith("  0: valid"))
    assert "\\x1b[2Jlong long" in line and line.endswith("…") and len(line) < 160


def test_show_has_a_line_for_the_fan_outs_that_are_alike_however_many_inputs(
    place: Place,
) -> None:
    inputs = ", ".join(f"{{text: t{n}}}" for n in range(30))
    text = "sample:\n  model: 'sim:x?median_s=0.001'\n  prompt: '{{ input.text }}'\n"
    (place.path / "f.yaml").write_text(f"{text}  inputs: [{inputs}]\n")
    assert place.run("run", "f.yaml", "--run", "r").returncode == 0
    lines = place.run("show", "r").stdout.decode().splitlines()
    inside = [line for line in lines if line.startswith("fan-outs ")]
    assert [line.split(": ")[0] for line in inside] == [
        "fan-outs  prompts/*/sample",
        "fan-outs  prompts/*/sample/*/samples",
    ]
    assert "  … and 10 more; --items shows all" in lines
    assert len(lines) < 40 and max(map(len, lines)) < 300
    whole = place.run("show", "r", "--items").stdout.decode()
    assert "  29: valid (sample" in whole


@slow
def test_ctrl_c_says_how_many_inputs_were_not_sampled(
    reviews: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    (reviews.path / "reviews.yaml").write_text(FILE.replace("loop_budget: 2", "cap: 1"))

    async def main(server: ScriptedServer) -> None:
        server.gate.close()
        process = await asyncio.to_thread(reviews.start, "run", "reviews.yaml", "--run", "r")
        await server.gate.held(2)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        await asyncio.to_thread(process.stderr.readline)
        server.gate.open()
        _, err = await asyncio.to_thread(process.communicate)
        assert process.returncode == 130
        assert b"fanwise: 1 of 1 valid, and 2 not sampled\n" in err

    serving(good_or_bad, main, monkeypatch)


def test_one_prompt_that_got_no_sample_is_not_named_by_a_number(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        done = await command(place, "sample", "x", "-m", "openai:gpt-5-mini")
        assert (done.returncode, done.stdout) == (1, b"")
        said = done.stderr.decode().splitlines()
        assert said[0] == "fanwise: 0 of 1 valid"
        assert said[1].startswith("  no sample: ModelRejected: openai:gpt-5-mini")

    serving(lambda _: Answer(status=400), main, monkeypatch)


def test_a_command_that_is_not_there_is_named(place: Place) -> None:
    done = place.run("sample", "x", "-m", "sim:", "--command", "nosuchprogram")
    assert done.returncode == 1
    said = "a chain had an error: CommandFailed: cannot run 'nosuchprogram': No such file"
    assert said in done.stderr.decode()


def test_an_empty_prompt_is_refused_and_nothing_is_started(place: Place) -> None:
    done = place.run("sample", "-", "-m", "sim:", given=b" \n")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, b"fanwise: the prompt is empty")
    assert not list(place.path.iterdir())


BAD = [
    ("sample:\n  model: openai:x\n", "2:3: sample: give `prompt` or `messages`"),
    ("sample:\n  model: openai:x\n  prompt: '{{ input.text }}'\n", "3:11: sample.prompt: there is"),
    ("sample:\n  model: openai:x\n  promt: y\n", "did you mean `prompt`?"),
    ("sample:\n  model: openai:x\n  prompt: y\n  strategy: vote\n", "there is no strategy 'vote'"),
    ("sample:\n  model: openai:x\n  prompt: y\n  strategy: escalate\n", "escalate needs a model"),
    (
        "sample:\n  model: openai:x\n  prompt: y\n  requirements: [{regex: '('}]\n",
        "4:18: sample.requirements[0]: '(' is not a regular expression",
    ),
    (
        "sample:\n  model: openai:x\n  prompt: y\n  requirements: [{call: 'nowhere:f'}]\n",
        "sample.requirements[0].call: there is no module `nowhere`",
    ),
    (
        "sample:\n  model: openai:x\n  prompt: y\n  requirements: [{regex: a, judge: b}]\n",
        "a requirement is a text, or has one of",
    ),
    ("sample:\n  model: openai:x\n  prompt: y\n  schema: {type: wrong}\n", "sample.schema"),
    ("sample:\n  model: openai:x\n  prompt: y\n  loop_budget: 0\n", "must be at least 1"),
    (
        "sample:\n  model: openai:x\n  prompt: '{{ input.texte }}'\n  inputs: [{text: a}]\n",
        "did you mean `input.text`?",
    ),
    ("sample:\n  model: openai:x\n  prompt: y\n  caps: {openai: 0}\n", "must be at least 1"),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_what_is_wrong_in_a_file_is_named_with_its_place(
    place: Place, text: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    (place.path / "f.yaml").write_text(text)
    done = place.run("run", "f.yaml")
    assert done.returncode == 2
    assert words in done.stderr.decode()
    assert done.stderr.startswith(b"fanwise: f.yaml:")
    assert sorted(path.name for path in Path(place.path).iterdir()) == ["f.yaml"]


def test_without_a_key_it_says_which_one_and_starts_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = place.run("sample", "x", "-m", "openai:gpt-5-mini")
    assert done.returncode == 2
    assert b"OPENAI_API_KEY" in done.stderr
    assert not list(place.path.iterdir())


@slow
def test_what_a_model_says_does_not_steer_the_terminal(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "a\tb\x1b]0;title\x07\x1b[2J\x9b31m\r"

    async def main(server: ScriptedServer) -> None:
        args = ["sample", "x", "-m", "openai:gpt-5-mini", "--wide", "1", "--loop", "1"]
        piped = await command(place, *args)
        assert piped.stdout.decode() == f"{said}\n"
        primary, secondary = os.openpty()
        process = await asyncio.to_thread(place.start, *args, stdout=secondary)
        await asyncio.to_thread(process.communicate)
        shown = os.read(primary, 1 << 16).decode()
        os.close(secondary)
        os.close(primary)
        assert shown == "a\tb\\x1b]0;title\\x07\\x1b[2J\\u009b31m\r\r\n"

    serving(lambda _: said, main, monkeypatch)


def test_why_it_is_not_valid_is_told_without_control_characters_and_in_a_line(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        args = ["sample", "x", "-m", "openai:gpt-5-mini", "--wide", "1", "--loop", "1"]
        done = await command(place, *args, "--command", "sh -c 'cat >&2; exit 1'")
        note = done.stderr.decode().splitlines()[1]
        assert note.startswith("  not valid: the command exited with code 1: ")
        assert "two \\x1b[2J" in note
        assert len(note) < 600
        assert b"\x1b" not in done.stderr

    serving(lambda _: "one\ntwo \x1b[2J" + "x" * 10_000, main, monkeypatch)


@pytest.mark.parametrize("args", [[b"sample", b"a\xff"], [b"sample", b"-"]])
def test_a_prompt_that_is_no_text_is_refused(place: Place, args: list[str | bytes]) -> None:
    done = place.run(*args, "-m", "sim:", given=b"a\xff")
    assert done.returncode == 2
    assert done.stderr.startswith(b"fanwise: the prompt is not UTF-8: character 2")


def test_a_closed_stdin_is_refused(place: Place) -> None:
    line = f"{' '.join(COMMAND)} sample - -m sim: <&-"
    done = subprocess.run(["sh", "-c", line], cwd=place.path, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"fanwise: cannot read stdin: Bad file descriptor\n")


def test_the_example_sorts_every_word_right_with_the_local_model(
    place: Place, smollm2: str
) -> None:
    example = str(Path(__file__).parents[2] / "examples" / "sort.yaml")
    done = place.run("run", example)
    assert done.returncode == 0, done.stderr
    rows = dict(line.split("\t") for line in done.stdout.decode().splitlines())
    assert {word for word, label in rows.items() if label == '"animal"'} == {
        "dog", "horse", "lion", "wolf",
    }  # fmt: skip
    assert {word for word, label in rows.items() if label == '"fruit"'} == {
        "banana", "apple", "cherry", "peach",
    }  # fmt: skip


def test_what_is_simulated_says_so(place: Place) -> None:
    done = place.run("sample", "x", "-m", "sim:")
    assert done.returncode == 0
    assert b"simulated" in done.stderr


def test_with_retry_failed_what_is_not_valid_is_asked_for_again_and_nothing_else(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    better: list[str] = []

    def script(body: dict[str, Any]) -> str:
        asked.append(body["messages"][-1]["content"])
        return "good" if asked[-1] in ["lovely", *better] else "hm"

    inputs = "[{id: a, text: lovely}, {id: b, text: awful}]"
    once = "requirements: [{regex: good}], loop_budget: 1, concurrency_budget: 1"
    (place.path / "s.yaml").write_text(
        f'sample: {{name: s, model: "openai:x", prompt: "{{{{ input.text }}}}", '
        f"inputs: {inputs}, {once}}}\n"
    )

    async def body(_: ScriptedServer) -> None:
        assert (await command(place, "run", "s.yaml", "--run", "r")).returncode == 1
        assert sorted(asked) == ["awful", "lovely"]
        assert (await command(place, "resume", "r")).returncode == 1
        assert len(asked) == 2
        better.append("awful")
        again = await command(place, "resume", "r", "--retry-failed")
        assert (again.returncode, again.stdout) == (0, b"a\tgood\nb\tgood\n")
        assert asked[2:] == ["awful"]

    serving(script, body, monkeypatch)
