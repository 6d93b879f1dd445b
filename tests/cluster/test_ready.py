"""Workers that do not come up: an error of ours, with what to look at."""

from __future__ import annotations

import asyncio

import pytest

from fanwise import Ray, fan_out
from fanwise.cluster.nodes import FORGIVE_S, Nodes, WorkerNeeds
from fanwise.errors import WorkersNotReady
from tests.cluster import works


@pytest.mark.slow
def test_workers_that_do_not_come_up_in_time_are_an_error_that_says_what_to_look_at(
    cluster: Ray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanwise.cluster.pool.READY_S", 0.5)
    with pytest.raises(
        WorkersNotReady, match=r"no worker was ready within 0.5 s \(no node"
    ) as told:
        asyncio.run(fan_out(works.double, [1], on=Ray("auto", resources={"absent": 1})))
    assert told.value.seconds == 0.5
    assert "ray status" in told.value.next_step


def test_what_a_worker_takes_decides_how_many_a_node_has_room_for() -> None:
    needs = WorkerNeeds(cpus=2, gpus=1, memory=4 * 2**30, resources={"tpu": 0.5})
    node = {"CPU": 16.0, "GPU": 8.0, "memory": 24.0 * 2**30, "tpu": 2.0}
    assert needs.room(node) == 4
    assert needs.room({**node, "CPU": 7.0}) == 3
    assert needs.room({**node, "memory": 3.0 * 2**30}) == 0
    assert needs.room({key: value for key, value in node.items() if key != "tpu"}) == 0
    assert WorkerNeeds(most=2).room({"CPU": 64.0}) == 2
    assert needs.told() == "2 CPU and 1 GPU and 4,294,967,296 memory and 0.5 tpu"


@pytest.mark.slow
def test_a_silent_node_is_left_alone_for_a_while_and_then_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("ray")
    host = {"Alive": True, "NodeManagerHostname": "host", "Resources": {"CPU": 1.0}}
    there = [{**host, "NodeID": "aaaaaaaa"}, {**host, "NodeID": "bbbbbbbb"}]
    now = 0.0
    monkeypatch.setattr("ray.nodes", lambda: there)
    monkeypatch.setattr("fanwise.cluster.nodes.monotonic", lambda: now)
    nodes = Nodes(WorkerNeeds(), None)
    assert [*nodes.missing()] == ["aaaaaaaa", "bbbbbbbb"]
    nodes._workers.update(nodes.missing())
    nodes.lost("bbbbbbbb", None, alone=False, silent=True)
    now = FORGIVE_S - 1
    assert nodes.learn(nodes.ask()) == [] and [*nodes.missing()] == []
    now = FORGIVE_S + 1
    assert nodes.learn(nodes.ask()) == [] and [*nodes.missing()] == ["bbbbbbbb"]
    there.pop()
    assert nodes.learn(nodes.ask()) == ["host-bbbbbb"] and [*nodes.missing()] == []
    assert nodes.learn(nodes.ask()) == [], "it is told once"
