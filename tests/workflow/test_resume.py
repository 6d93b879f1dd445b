"""What runs again on a resume, and what does not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fanwise.errors import UsageError
from fanwise.testing import virtual_time

from .running import World, output, statuses
from .support import HEADER

INPUTS = "inputs: {a: {type: string, default: x}, fail: {type: boolean, default: true}}\n"


@virtual_time
async def test_with_changed_inputs_only_what_depends_on_them_runs_again(tmp_path: Path) -> None:
    steps = """
    - {id: one, type: do, give: "{{ inputs.a }}"}
    - {id: two, type: do, give: "{{ steps.one.output.gave }}"}
    - {id: apart, type: do}
    - {id: last, type: do, fail: "{{ inputs.fail }}"}
    """
    world = World(tmp_path)
    assert (await world.run(steps, INPUTS)).status == "failed"
    world.ran = []
    ending = await world.resume(steps, INPUTS, input={"fail": "no"})
    assert (ending.status, world.ran) == ("completed", ["last"])
    world.ran = []
    ending = await world.resume(steps, INPUTS, input={"a": "y"})
    assert (ending.status, world.ran) == ("completed", ["one", "two"])
    assert output(ending, "two") == {"gave": "y"}
    # And what an earlier resume was given stays.
    world.ran = []
    assert (await world.resume(steps, INPUTS)).status == "completed"
    assert world.ran == []


@virtual_time
async def test_an_input_that_is_no_utf_8_is_refused_before_anything_runs(tmp_path: Path) -> None:
    world = World(tmp_path)
    for value in ("\udcff", "a\ud800"):
        with pytest.raises(UsageError, match="must be text in UTF-8"):
            await world.run("- {id: one, type: do}", INPUTS, input={"a": value})
    assert world.ran == []


@virtual_time
async def test_back_to_an_earlier_value_runs_again_too(tmp_path: Path) -> None:
    """What was recorded is of another time: the step may have changed the world since."""
    steps = '- {id: one, type: do, give: "{{ inputs.a }}"}'
    world = World(tmp_path)
    await world.run(steps, INPUTS)
    await world.resume(steps, INPUTS, input={"a": "y"})
    await world.resume(steps, INPUTS, input={"a": "x"})
    assert world.ran == ["one"] * 3


@virtual_time
async def test_a_failure_that_was_absorbed_is_final_and_one_that_ended_the_run_is_not(
    tmp_path: Path,
) -> None:
    steps = """
    - {id: soft, type: do, fail: true, continue_on_error: true}
    - {id: hard, type: do, fail: "{{ inputs.fail }}"}
    """
    world = World(tmp_path)
    ending = await world.run(steps, INPUTS)
    assert statuses(ending) == {"soft": "failed", "hard": "failed"}
    assert ending.facts["current_step_id"] == "hard"
    world.ran = []
    assert (await world.resume(steps, INPUTS)).status == "failed"
    assert world.ran == ["hard"]


@virtual_time
async def test_a_failed_item_s_neighbours_do_not_run_again(tmp_path: Path) -> None:
    steps = """
    - id: all
      type: fan-out
      items: [0, 1, 2]
      max_concurrency: 3
      halt: never
      step: {id: t, type: do, fail: "{{ inputs.fail and item == 1 }}"}
    """
    world = World(tmp_path)
    ending = await world.run(steps, INPUTS)
    assert (ending.status, len(output(ending, "all")["results"])) == ("failed", 3)
    world.ran = []
    ending = await world.resume(steps, INPUTS, input={"fail": False})
    assert (ending.status, world.ran) == ("completed", ["all:t:1"])


@pytest.mark.parametrize(
    ("start", "again"),
    [
        ("one", ["one", "loop:turn", "loop:turn:1", "last"]),
        ("loop", ["loop:turn", "loop:turn:1", "last"]),
        ("turn", ["loop:turn", "loop:turn:1", "last"]),
        ("last", ["last"]),
    ],
)
@virtual_time
async def test_from_a_step_on_all_runs_again(start: str, again: list[str], tmp_path: Path) -> None:
    steps = """
    - {id: one, type: do}
    - {id: loop, type: while, condition: true, max_iterations: 2, steps: [{id: turn, type: do}]}
    - {id: last, type: do}
    """
    world = World(tmp_path)
    await world.run(steps)
    world.ran = []
    assert (await world.resume(steps, start=start)).status == "completed"
    assert world.ran == [
        path.removeprefix("loop:") if path == "loop:turn" else path for path in again
    ]
    world.ran = []
    await world.resume(steps)
    assert world.ran == []


@virtual_time
async def test_from_a_step_stays_asked_for_until_it_is_done(tmp_path: Path) -> None:
    """The second execution fails on its way: the third goes on with it, not with the first."""
    steps = """
    - {id: one, type: do}
    - {id: two, type: do, fail: "{{ inputs.fail }}"}
    - {id: three, type: do}
    """
    world = World(tmp_path)
    await world.run(steps, INPUTS, input={"fail": False})
    await world.resume(steps, INPUTS, start="one", input={"fail": True})
    world.ran = []
    await world.resume(steps, INPUTS, input={"fail": False})
    assert world.ran == ["two", "three"]


@virtual_time
async def test_stop_after_pauses_and_a_resume_goes_on(tmp_path: Path) -> None:
    steps = "- {id: one, type: do}\n- {id: two, type: do}\n- {id: three, type: do}"
    world = World(tmp_path)
    ending = await world.run(steps, stop_after="two")
    assert (ending.status, ending.end([]).exit_code) == ("paused", 0)
    assert world.ran == ["one", "two"]
    assert (await world.resume(steps)).status == "completed"
    assert world.ran == ["one", "two", "three"]


def test_steps_that_are_not_there_are_refused(tmp_path: Path) -> None:
    world = World(tmp_path)
    steps = "- {id: all, type: fan-out, items: [1], step: {id: t, type: do}}"
    with pytest.raises(UsageError, match="no such step"):
        world.plan(steps, start="al")
    with pytest.raises(UsageError, match="Name the fan-out: all"):
        world.plan(steps, stop_after="t")


INNER = HEADER + "steps: [{id: a, type: do}, {id: b, type: do}, {id: last, type: do}]\n"
OUTER = """
- {id: one, type: do}
- {id: sub, type: workflow, workflow: inner.yaml}
- {id: twin, type: workflow, workflow: inner.yaml}
- {id: last, type: do}
"""
ALL = ["one", "sub:a", "sub:b", "sub:last", "twin:a", "twin:b", "twin:last", "last"]


@pytest.mark.parametrize("start", ["one", "sub:b", "twin", "twin:a", "twin:last", "last"])
@virtual_time
async def test_steps_of_included_files_can_be_named(start: str, tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(INNER)
    first = ALL.index("twin:a" if start == "twin" else start)
    world = World(tmp_path)
    assert (await world.run(OUTER)).status == "completed"
    assert world.ran == ALL
    world.ran = []
    assert (await world.resume(OUTER, start=start)).status == "completed"
    assert world.ran == ALL[first:]
    # `last` is also the id of steps in the included file: it is not they who are meant.
    stopped = World(tmp_path)
    ending = await stopped.run(OUTER, stop_after=start)
    assert ending.status == "paused"
    after = "twin:last" if start == "twin" else start
    assert stopped.ran == ALL[: ALL.index(after) + 1]
    await stopped.resume(OUTER)
    assert stopped.ran == ALL


def test_which_steps_can_be_named_is_said(tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(INNER)
    step = "{id: t, type: workflow, workflow: inner.yaml}"
    fan = f"- {{id: all, type: fan-out, items: [1], step: {step}}}"
    world = World(tmp_path)
    for option in ("start", "stop_after"):
        with pytest.raises(UsageError, match=r"no such step.*sub:a, sub:b, sub:last, twin, twin:a"):
            world.plan(OUTER, **{option: "inner:a"})
    with pytest.raises(UsageError, match="Name the fan-out: all"):
        world.plan(fan, stop_after="t:a")
    world.plan(fan, start="t:a")


@virtual_time
async def test_what_is_done_on_failure_belongs_to_that_failure(tmp_path: Path) -> None:
    steps = """
    - id: work
      type: do
      fail: "{{ inputs.fail }}"
      on_failure: [{id: tidy, type: do, give: "{{ steps.work.error }}"}]
    """
    world = World(tmp_path)
    ending = await world.run(steps, INPUTS)
    assert (ending.status, world.ran) == ("failed", ["work", "tidy"])
    assert output(ending, "tidy")["gave"] == "work was told to fail"
    await world.resume(steps, INPUTS)
    assert world.ran == ["work", "tidy"] * 2
    ending = await world.resume(steps, INPUTS, input={"fail": False})
    assert (ending.status, world.ran) == ("completed", [*["work", "tidy"] * 2, "work"])


@virtual_time
async def test_a_retry_of_a_whole_goes_on_where_it_failed(tmp_path: Path) -> None:
    tries: list[str] = []

    async def flaky(fields: object, place: object) -> dict[str, int]:
        tries.append("x")
        if len(tries) < 3:
            raise ConnectionError
        return {"tries": len(tries)}

    world = World(tmp_path, flaky=flaky)
    ending = await world.run(
        """
        - id: whole
          type: if
          condition: true
          retry: 5
          then: [{id: one, type: do}, {id: two, type: flaky}, {id: three, type: do}]
        - {id: late, type: if, condition: true, timeout: 3, then: [{id: slow, type: do, sleep: 9}]}
        """
    )
    assert world.ran == ["one", "three", "slow"]
    assert output(ending, "two") == {"tries": 3}
    assert (ending.status, ending.facts["current_step_id"]) == ("failed", "late")
    assert "timed out after 3 s" in str(ending.facts["error"])


@virtual_time
async def test_an_attempt_sees_nothing_of_those_before_it(tmp_path: Path) -> None:
    """A condition that holds until something failed would make a success of the failure."""
    steps = """
    - id: loop
      type: while
      condition: "{{ steps.turn.status != 'failed' }}"
      retry: 1
      steps: [{id: turn, type: do, fail: true}]
    """
    world = World(tmp_path)
    ending = await world.run(steps)
    assert (ending.status, world.ran) == ("failed", ["turn"] * 2)
    assert statuses(ending) == {"loop": "failed", "turn": "failed"}


@virtual_time
async def test_of_attempts_at_a_whole_the_last_one_is_seen_after_it(tmp_path: Path) -> None:
    tries: list[str] = []

    async def flaky(fields: object, place: object) -> dict[str, int]:
        tries.append("x")
        if len(tries) < 2:
            raise ConnectionError
        return {"tries": len(tries)}

    steps = """
    - id: whole
      type: if
      condition: true
      retry: 1
      then:
        - {id: maybe, type: if, condition: "{{ not steps.two }}", then: [{id: one, type: flaky}]}
        - {id: two, type: do, give: "{{ steps.one.output.tries }}"}
        - {id: all, type: fan-in, wait_for: [two]}
    - {id: after, type: do, give: "{{ fan_in.results | map('gave') }}"}
    """
    ending = await World(tmp_path, flaky=flaky).run(steps)
    assert (ending.status, output(ending, "after")) == ("completed", {"gave": [2]})
    assert output(ending, "one") == {"tries": 2}


@virtual_time
async def test_what_is_done_on_failure_is_done_for_each_attempt_around(tmp_path: Path) -> None:
    steps = """
    - id: whole
      type: if
      condition: true
      retry: 2
      on_failure: [{id: after, type: do}]
      then: [{id: a, type: do, fail: true, on_failure: [{id: clean, type: do}]}]
    """
    world = World(tmp_path)
    assert (await world.run(steps)).status == "failed"
    assert world.ran == [*["a", "clean"] * 3, "after"]
    world.ran = []
    assert (await world.resume(steps)).status == "failed"
    assert world.ran == [*["a", "clean"] * 3, "after"]


@virtual_time
async def test_what_is_done_on_failure_is_done_after_each_time_out(tmp_path: Path) -> None:
    steps = """
    - id: late
      type: if
      condition: true
      timeout: 3
      then: [{id: slow, type: do, sleep: 9}]
      on_failure: [{id: clean, type: do}]
    """
    world = World(tmp_path)
    await world.run(steps)
    await world.resume(steps)
    assert world.ran == ["slow", "clean"] * 2


CUT_SHORT = """
- id: late
  type: do-while
  condition: true
  timeout: 3
  continue_on_error: true
  steps:
    - {id: quick, type: do, sleep: 1, give: "{{ inputs.a }}"}
    - {id: slow, type: do, give: 9, sleep: "{{ steps.slow.output.gave | default(0) }}"}
  on_failure: [{id: clean, type: do, give: "{{ inputs.b }}"}]
- {id: after, type: do, give: "{{ steps.quick.output.gave }} {{ steps.late.output.timed_out }}"}
"""
TWO_INPUTS = "inputs: {a: {type: string, default: x}, b: {type: string, default: x}}\n"


@virtual_time
async def test_a_time_out_that_the_run_went_on_after_is_not_tried_again(tmp_path: Path) -> None:
    """In the second iteration `slow` is cut short, and has no outcome."""
    world = World(tmp_path)
    first = await world.run(CUT_SHORT, TWO_INPUTS)
    turns = ["quick", "slow", "late:quick:1", "late:slow:1"]
    assert (first.status, world.ran) == ("completed", [*turns, "clean", "after"])
    assert output(first, "after") == {"gave": "x True"}
    world.ran = []
    again = await world.resume(CUT_SHORT, TWO_INPUTS)
    assert (again.status, world.ran) == ("completed", [])
    assert again.states == first.states
    # What does not stand in it is no reason, what does is one.
    await world.resume(CUT_SHORT, TWO_INPUTS, input={"b": "y"})
    assert world.ran == ["clean"]
    world.ran = []
    changed = await world.resume(CUT_SHORT, TWO_INPUTS, input={"a": "y"})
    assert world.ran == ["quick", "late:quick:1", "late:slow:1", "clean", "after"]
    assert output(changed, "after") == {"gave": "y True"}
    world.ran = []
    await world.resume(CUT_SHORT, TWO_INPUTS)
    assert world.ran == []


@pytest.mark.parametrize(
    ("start", "ran"),
    [
        ("slow", ["slow", "late:quick:1", "late:slow:1", "clean", "after"]),
        ("clean", ["clean", "after"]),
        ("after", ["after"]),
    ],
)
@virtual_time
async def test_from_a_step_in_what_was_cut_short(
    start: str, ran: list[str], tmp_path: Path
) -> None:
    world = World(tmp_path)
    await world.run(CUT_SHORT, TWO_INPUTS)
    world.ran = []
    await world.resume(CUT_SHORT, TWO_INPUTS, start=start)
    assert world.ran == ran


@virtual_time
async def test_who_asks_for_failures_gets_a_time_out_tried_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.run(CUT_SHORT, TWO_INPUTS)
    world.ran = []
    await world.resume(CUT_SHORT, TWO_INPUTS, retry_failed=True)
    assert world.ran == ["late:slow:1", "clean"]


@virtual_time
async def test_what_a_time_out_left_is_seen_after_it_on_a_resume_too(tmp_path: Path) -> None:
    (tmp_path / "child.yaml").write_text(HEADER + "steps: [{id: x, type: do, give: 4}]\n")
    steps = """
    - id: box
      type: if
      condition: true
      timeout: 3
      continue_on_error: true
      then:
        - id: each
          type: fan-out
          items: [1, 2]
          step: {id: t, type: if, condition: true, then: [{id: x, type: do, give: "{{ item }}"}]}
        - {id: tried, type: if, condition: true, retry: 1, then: [{id: y, type: do, give: 3}]}
        - {id: sub, type: workflow, workflow: child.yaml}
        - {id: all, type: fan-in, wait_for: [each, y]}
        - {id: slow, type: do, sleep: 9}
    - {id: after, type: do, give: "{{ [fan_in, steps.each:t:1, steps.y, steps.sub, steps.slow] }}"}
    """
    world = World(tmp_path)
    first = await world.run(steps)
    gave = output(first, "after")["gave"]
    assert [each is not None for each in gave] == [True] * 4 + [False]
    world.ran = []
    again = await world.resume(steps)
    assert (world.ran, again.states) == ([], first.states)


@pytest.mark.parametrize("why", ["asked for", "another value and back"])
@virtual_time
async def test_a_time_out_is_forgotten_once_the_step_is_tried_again(
    why: str, tmp_path: Path
) -> None:
    slow = [True]

    async def sometimes(fields: object, place: object) -> dict[str, bool]:
        await asyncio.sleep(9 if slow[0] else 0)
        return {"came": True}

    steps = """
    - id: late
      type: if
      condition: "{{ inputs.a }}"
      timeout: 3
      continue_on_error: true
      then: [{id: s, type: sometimes}]
    - {id: after, type: do, give: "{{ steps.s.output.came }}"}
    """
    world = World(tmp_path, sometimes=sometimes)
    await world.run(steps, TWO_INPUTS)
    slow[0] = False
    if why == "asked for":
        await world.resume(steps, TWO_INPUTS, retry_failed=True)
    else:
        await world.resume(steps, TWO_INPUTS, input={"a": "y"})
        await world.resume(steps, TWO_INPUTS, input={"a": "x"})
    world.ran = []
    ending = await world.resume(steps, TWO_INPUTS)
    assert (statuses(ending)["late"], world.ran) == ("completed", [])
    assert output(ending, "after") == {"gave": True}


@virtual_time
async def test_an_attempt_around_goes_past_a_time_out_that_is_absorbed_inside(
    tmp_path: Path,
) -> None:
    late = "{id: late, type: if, condition: true, timeout: 3, continue_on_error: CONTINUES, then:"
    steps = f"""
    - id: whole
      type: if
      condition: true
      retry: 1
      then:
        - {late} [{{id: slow, type: do, sleep: 9}}]}}
        - {{id: bad, type: do, fail: true}}
    """
    world = World(tmp_path)
    await world.run(steps.replace("CONTINUES", "true"))
    assert world.ran == ["slow", "bad", "bad"]
    other = World(tmp_path)
    await other.run(steps.replace("CONTINUES", "false"))
    assert other.ran == ["slow", "slow"]


SOFT = "{id: a, type: do, fail: true, continue_on_error: true, on_failure: [{id: tidy, type: do}]}"


@virtual_time
async def test_an_attempt_repeats_nothing_that_the_steps_had_gone_past(tmp_path: Path) -> None:
    steps = f"""
    - id: whole
      type: if
      condition: true
      retry: 2
      then: [{SOFT}, {{id: b, type: do, fail: true}}]
    """
    world = World(tmp_path)
    assert (await world.run(steps)).status == "failed"
    assert world.ran == ["a", "tidy", "b", "b", "b"]
    world.ran = []
    ending = await world.resume(steps)
    assert (ending.status, world.ran) == ("failed", ["b", "b", "b"])
    assert statuses(ending)["a"] == "failed"


@virtual_time
async def test_a_whole_that_may_fail_makes_all_its_attempts_once(tmp_path: Path) -> None:
    """Inside it a failure is tried again; once it was gone past, it is final."""
    steps = """
    - id: outer
      type: if
      condition: true
      retry: 1
      then:
        - id: inner
          type: if
          condition: true
          retry: 2
          continue_on_error: true
          on_failure: [{id: tidy, type: do}]
          then: [{id: a, type: do, fail: true}]
        - {id: b, type: do, fail: true}
    """
    world = World(tmp_path)
    assert (await world.run(steps)).status == "failed"
    assert world.ran == ["a", "a", "a", "tidy", "b", "b"]
    world.ran = []
    assert (await world.resume(steps)).status == "failed"
    assert world.ran == ["b", "b"]


@virtual_time
async def test_attempts_that_were_cut_short_begin_anew(tmp_path: Path) -> None:
    """The failure of an attempt that was not the last is not what the whole came to."""
    steps = """
    - id: whole
      type: if
      condition: true
      retry: 1
      continue_on_error: true
      then: [{id: a, type: stop}, {id: b, type: do}]
    """
    made: list[str] = []

    async def stop(fields: object, place: object) -> None:
        made.append("a")
        if len(made) == 2:
            raise KeyboardInterrupt
        if len(made) < 4:
            raise ConnectionError

    world = World(tmp_path, stop=stop)
    with pytest.raises(KeyboardInterrupt):
        await world.run(steps)
    ending = await world.resume(steps)
    assert (len(made), world.ran, ending.status) == (4, ["b"], "completed")
    assert statuses(ending)["whole"] == "completed"


@virtual_time
async def test_attempts_that_were_cut_short_between_two_begin_anew(tmp_path: Path) -> None:
    """Then the failure is the last that is on disk of it, and still not what it came to."""
    steps = """
    - id: whole
      type: if
      condition: true
      retry: {times: 1, base: 1000000, most: 1000000}
      continue_on_error: true
      then: [{id: a, type: once}, {id: b, type: do}]
    """
    made: list[str] = []
    waits = asyncio.Event()

    async def once(fields: object, place: object) -> None:
        made.append("a")
        if len(made) == 1:
            asyncio.get_running_loop().call_later(0.5, waits.set)
            raise ConnectionError

    world = World(tmp_path, once=once)
    run = asyncio.ensure_future(world.run(steps))
    await waits.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert len(made) == 1
    ending = await world.resume(steps)
    assert (len(made), world.ran, ending.status) == (2, ["b"], "completed")
