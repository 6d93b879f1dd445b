"""The model of a cluster: what nodes, the driver and losses make of a number of items."""

from __future__ import annotations

import math
from random import Random

import pytest

from fanwise.core.cluster_model import ClusterModel, estimate


def test_without_losses_it_is_the_rounds_of_the_items() -> None:
    model = ClusterModel(nodes=2, workers=2, at_once=1, dispatch_s=0.0)
    assert estimate(model, 8, 10.0, Random(0).random).seconds == 20.0
    assert estimate(model, 9, 10.0, Random(0).random).seconds == 30.0


def test_caps_hold_over_all_nodes() -> None:
    model = ClusterModel(nodes=10, workers=4, at_once=64, most=5, dispatch_s=0.0)
    assert estimate(model, 50, 1.0, Random(0).random).seconds == 10.0


def test_more_nodes_than_the_driver_can_feed_help_no_more() -> None:
    times = {
        nodes: estimate(
            ClusterModel(nodes=nodes, workers=1, dispatch_s=0.01), 5000, 1.0, Random(0).random
        )
        for nodes in (1, 2, 10)
    }
    assert times[1].seconds > 75 and times[1].driver_busy < 0.7
    assert times[2].seconds == pytest.approx(times[10].seconds, rel=0.02)
    assert times[10].driver_busy > 0.95


def test_a_lost_node_costs_its_items_and_the_time_until_it_is_back() -> None:
    model = ClusterModel(nodes=4, workers=1, at_once=1, dispatch_s=0.0)
    calm = estimate(model, 400, 60.0, Random(0).random)
    rough = estimate(
        ClusterModel(nodes=4, workers=1, at_once=1, mtbf_s=3600.0), 400, 60.0, Random(0).random
    )
    assert (calm.lost_nodes, calm.begun_again) == (0, 0)
    assert rough.begun_again >= rough.lost_nodes > 0
    assert calm.seconds < rough.seconds < 1.3 * calm.seconds
    assert rough == estimate(
        ClusterModel(nodes=4, workers=1, at_once=1, mtbf_s=3600.0), 400, 60.0, Random(0).random
    )


def test_an_item_begins_again_where_there_is_room_and_not_before_its_loss_is_noticed() -> None:
    model = ClusterModel(nodes=2, workers=1, at_once=1, mtbf_s=100.0, dispatch_s=0.0)
    losses = iter([150.0, 3000.0])  # of the node with the third item, while the other is idle
    found = estimate(model, 3, 100.0, lambda: 1 - math.exp(-next(losses) / 100.0))
    assert (found.lost_nodes, found.begun_again) == (1, 1)
    assert found.seconds == pytest.approx(150.0 + 2.0 + 100.0)
