"""Caps, rates, adaptive caps, retry and budget: pure, with time and chance as arguments."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise import Adaptive, Budget, Caps, Rate, Retry, Usage
from fanwise.core.budget import Budgets, Claim, Reservation
from fanwise.core.caps import parse_needs, resource
from fanwise.core.rate import Adaptation, Bucket
from fanwise.core.stats import Stats, lower_bound
from fanwise.core.tickets import Group, Ticket
from fanwise.errors import (
    BadCap,
    BudgetExceeded,
    ImpossibleNeeds,
    NestedCap,
    RateLimited,
    UnknownCap,
    UsageError,
)
from tests.profiles import examples


def ticket(
    caps: Caps, order: int, tokens: float = 0.0, group: Group | None = None, **needs: int
) -> Ticket:
    ledger = caps.ledger
    return Ticket(group or ledger.calls, ledger.resolve(needs), order, tokens)


@pytest.mark.parametrize(
    "limits",
    [
        {"x": 0}, {"x": -1}, {"x": "4"}, {"x": 1.5}, {"x": True}, {"x": None},
        {"x": Rate()}, {"x": Rate(requests=0)}, {"x": Rate(tokens=-1)}, {"x": Rate(requests=True)},
        {"x": Rate(requests=5, per=0)}, {"x": Adaptive(0)}, {"x": Adaptive(5, least=6)},
        {"x": Adaptive(5, most=4)}, {"x": (4, 5)}, {"total": 4}, {"": 4}, {"x": ()},
        {"x": Rate(requests=float("inf"))}, {"x": Rate(tokens=float("nan"))},
    ],
)  # fmt: skip
def test_a_limit_that_makes_no_sense_is_refused_at_once(limits: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Caps(limits)


def test_an_unknown_cap_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(UnknownCap, match="Did you mean 'openai'"):
        parse_needs("opanai", Caps(openai=1, gpu=2).ledger.resources, 0)


def test_needs_may_be_a_name_a_list_or_a_mapping() -> None:
    known = Caps(gpu=4, openai=1).ledger.resources
    assert parse_needs(None, known, 0) == {}
    assert parse_needs("gpu", known, 0) == {"gpu": 1}
    assert parse_needs(["gpu", "openai", "gpu"], known, 0) == {"gpu": 2, "openai": 1}
    assert parse_needs({"gpu": 3}, known, 0) == {"gpu": 3}
    with pytest.raises(BadCap):
        parse_needs({"gpu": 0}, known, 0)


@pytest.mark.parametrize("needs", [("gpu", 2), [["gpu"]], 5, {5: 1}, {"gpu": "2"}])
def test_needs_of_the_wrong_shape_are_ours_to_report(needs: Any) -> None:
    with pytest.raises(UsageError):
        parse_needs(needs, Caps(gpu=4).ledger.resources, 0)


def test_a_need_above_the_cap_is_an_error_and_not_an_endless_wait() -> None:
    with pytest.raises(ImpossibleNeeds, match="'gpu', which has only 2"):
        Caps(gpu=2).ledger.resolve({"gpu": 3})


def test_an_item_that_needs_two_caps_holds_neither_while_it_waits() -> None:
    caps = Caps(a=1, b=1)
    holder = ticket(caps, 0, b=1)
    assert caps.ledger.request(holder, 0.0)
    assert not caps.ledger.request(ticket(caps, 1, a=1, b=1), 0.0)
    assert caps.in_use == {"a": 0, "b": 1}
    assert caps.ledger.request(ticket(caps, 2, a=1), 0.0)


def test_one_that_needs_several_permits_goes_although_the_cap_was_never_full() -> None:
    caps = Caps(gpu=4)
    ledger = caps.ledger
    small, other, large = ticket(caps, 1, gpu=1), ticket(caps, 2, gpu=1), ticket(caps, 3, gpu=3)
    assert ledger.request(small, 0) and ledger.request(other, 0)
    assert not ledger.request(large, 0)
    ledger.release(small, 1.0)
    assert ledger.grants(1.0) == [large]


def test_turns_go_round_between_fan_outs_that_share_a_cap() -> None:
    """A late fan-out with few items does not stand behind all items of an early one."""
    caps = Caps(a=1)
    early, late = Group(), Group()
    held = ticket(caps, 0, a=1)
    caps.ledger.request(held, 0.0)
    for order in range(100):
        caps.ledger.request(ticket(caps, order, group=early, a=1), 0.0)
    for order in range(3):
        caps.ledger.request(ticket(caps, order, group=late, a=1), 0.0)
    served = []
    for _ in range(6):
        caps.ledger.release(held, 1.0)
        [held] = caps.ledger.grants(0.0)
        served.append(held.group)
    assert served.count(late) == 3


def test_holding_a_cap_and_waiting_for_it_again_is_named() -> None:
    with pytest.raises(NestedCap, match="'gpu' is needed inside an item that already holds 'gpu'"):
        (ledger := Caps(gpu=1).ledger).check_nesting(["gpu"], [ledger.resources["gpu"]])


def test_two_caps_nested_in_both_orders_are_an_error_before_they_can_deadlock() -> None:
    ledger, other = Caps(a=1, b=1).ledger, Caps(a=1, b=1).ledger
    ledger.check_nesting(["b"], [ledger.resources["a"]])
    other.check_nesting(["b"], [ledger.resources["b"]])
    other.check_nesting(["a"], [ledger.resources["a"]])  # of the same name, and another cap
    with pytest.raises(NestedCap, match="in the opposite order"):
        ledger.check_nesting(["a"], [other.resources["b"]])


def test_a_ledger_that_extends_another_shares_its_permits_and_its_line() -> None:
    caps = Caps(api=1)
    ledger = caps.ledger.extended([resource("slots", 1), resource("other", 1)])
    group, of_both = Group(), ledger.resolve({"api": 1, "slots": 1})
    first = Ticket(caps.ledger.calls, caps.ledger.resolve({"api": 1}), caps.ledger.next_order())
    second = Ticket(group, of_both, ledger.next_order())
    assert caps.ledger.request(first, 0.0)
    assert not ledger.request(second, 0.0)
    assert (first.order, second.order) == (1, 2)

    caps.ledger.release(first, 1.0)
    assert caps.ledger.grants(1.0) == [second], "it waited in the extension, and was forgotten"
    assert caps.in_use == {"api": 1}
    assert caps.names == ["api"]


def test_a_name_in_an_extension_means_its_own_cap() -> None:
    caps = Caps(api=1)
    ledger = caps.ledger.extended([resource("api", 5)])
    assert ledger.resolve({"api": 5})[0][0] is not caps.ledger.resources["api"]


# -- rates ---------------------------------------------------------------------------------------


@examples(2)
@given(
    n=st.integers(1, 200),
    gaps=st.lists(st.floats(0, 20), min_size=1, max_size=150),
)
def test_no_window_of_a_minute_sees_more_requests_than_the_rate(n: int, gaps: list[float]) -> None:
    bucket = Bucket.of_requests(n, 60.0)
    now, taken = 0.0, []
    for gap in gaps:
        now += gap
        now += bucket.wait(1.0, now)
        bucket.take(1.0, now)
        taken.append(now)
    for start in taken:
        assert sum(start <= at < start + 60.0 - 1e-6 for at in taken) <= n


def test_a_rate_is_used_up_and_not_only_respected() -> None:
    """A bucket that never lets anyone go would pass the test above."""
    bucket = Bucket.of_requests(120, 60.0)
    now, taken = 0.0, 0
    while (now := now + bucket.wait(1.0, now)) < 600.0:
        bucket.take(1.0, now)
        taken += 1
    assert taken >= 1_150


def test_a_request_larger_than_the_bucket_waits_for_a_full_one_and_leaves_a_debt() -> None:
    bucket = Bucket.of_tokens(600, 60.0)  # 100 at once, then 500 a minute
    bucket.take(50, 0.0)
    assert bucket.wait(1_000, 0.0) == pytest.approx(50 / (500 / 60))
    bucket.take(1_000, 6.0)
    assert bucket.wait(1, 6.0) == pytest.approx(901 / (500 / 60))


def test_a_rate_is_paid_by_what_calls_turn_out_to_use_not_by_the_most_they_may() -> None:
    """100,000 tokens may come and 100 do: paid in full, each would wait for the one before."""
    caps = Caps(m=Rate(tokens=6_000))  # 1,000 at once
    first = ticket(caps, 0, tokens=100_000, m=1)
    assert caps.ledger.request(first, 0.0)
    assert not caps.ledger.request(ticket(caps, 1, tokens=100_000, m=1), 0.0)
    caps.ledger.settle(first, 100, 0.0)
    caps.ledger.release(first, 1.0)
    assert len(caps.ledger.grants(0.0)) == 1
    more = [ticket(caps, n, tokens=100_000, m=1) for n in range(2, 20)]
    # 110 each, of 790 that are left.
    assert sum(caps.ledger.request(each, 0.0) for each in more) == 7


def test_refusals_teach_nothing_of_how_long_answers_are() -> None:
    caps = Caps(m=Rate(tokens=6_000))
    for order in range(20):
        refused = ticket(caps, order, tokens=1_000, m=1)
        assert caps.ledger.request(refused, 0.0)
        caps.ledger.settle(refused, 0, 0.0, whole=False)
        caps.ledger.release(refused, 0.0)
    first, second = (ticket(caps, order, tokens=1_000, m=1) for order in (20, 21))
    assert caps.ledger.request(first, 0.0)
    assert not caps.ledger.request(second, 0.0)


def test_one_long_answer_among_short_ones_is_reckoned_with() -> None:
    caps = Caps(m=Rate(tokens=60_000))  # 10,000 at once
    for order in range(20):
        one = ticket(caps, order, tokens=5_000, m=1)
        assert caps.ledger.request(one, 0.0)
        caps.ledger.settle(one, 4_000 if order == 10 else 10, 0.0)
        caps.ledger.release(one, 0.0)
        caps.ledger.grants(1_000.0 * order)
    more = [ticket(caps, order, tokens=5_000, m=1) for order in range(20, 60)]
    assert sum(caps.ledger.request(each, 90_000.0) for each in more) <= 3


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(1, 1_000)), min_size=50, max_size=120))
def test_however_wrong_the_estimates_are_the_rate_is_kept_in_the_long_run(
    calls: list[tuple[int, int]],
) -> None:
    """(used, by how much the estimate is too high); each call takes no time."""
    bucket_s, now, used_in_all = 60.0, 0.0, 0.0
    caps = Caps(m=Rate(tokens=6_000))
    for order, (used, factor) in enumerate(calls):
        one = ticket(caps, order, tokens=used * factor, m=1)
        if not caps.ledger.request(one, now):
            woken = caps.ledger.wake_at(now)
            assert woken is not None
            now = woken
            assert caps.ledger.grants(now) == [one]
        caps.ledger.settle(one, used, now)
        caps.ledger.release(one, 0.0)
        used_in_all += used
    assert used_in_all <= 1_000 + 5_000 * now / bucket_s + 400 + 1e-3


def test_tokens_that_were_not_used_are_given_back() -> None:
    caps = Caps(m=Rate(tokens=600))
    first = ticket(caps, 0, tokens=100, m=1)
    assert caps.ledger.request(first, 0.0)
    caps.ledger.settle(first, 10, 0.0)
    caps.ledger.release(first, 0.0)
    assert caps.ledger.request(ticket(caps, 1, tokens=80, m=1), 0.0)


def test_permits_that_are_handed_back_unused_cost_nothing_of_the_rate() -> None:
    caps = Caps(m=Rate(requests=60, tokens=600))  # one a second
    unused = ticket(caps, 0, tokens=100, m=1)
    assert caps.ledger.request(unused, 0.0)
    caps.ledger.hand_back(unused, 0.0)
    assert caps.in_use == {"m": 0}
    assert caps.ledger.request(ticket(caps, 1, tokens=100, m=1), 0.0)


def test_a_waiter_on_a_rate_is_told_when_to_wake() -> None:
    caps = Caps(m=Rate(requests=60))  # one a second
    assert caps.ledger.request(ticket(caps, 0, m=1), 0.0)
    assert not caps.ledger.request(ticket(caps, 1, m=1), 0.0)
    wake_at = caps.ledger.wake_at(0.0)
    assert wake_at == pytest.approx(1.0)
    assert wake_at is not None
    assert caps.ledger.grants(wake_at / 2) == []
    assert [t.order for t in caps.ledger.grants(wake_at)] == [1]
    assert caps.ledger.wake_at(wake_at) is None


# -- adaptive caps -------------------------------------------------------------------------------


def test_an_adaptive_cap_doubles_until_it_is_refused_then_grows_by_one() -> None:
    adaptation = Adaptation(1, 64)
    limit = 4
    for _ in range(4):
        limit = adaptation.accepted(limit, saturated=True)
    assert limit == 8
    limit = adaptation.refused(limit, sent_at=1.0, now=1.0)
    assert limit == 4
    for _ in range(4):
        limit = adaptation.accepted(limit, saturated=True)
    assert limit == 5


def test_an_adaptive_cap_that_is_not_full_does_not_grow() -> None:
    adaptation = Adaptation(1, 64)
    assert all(adaptation.accepted(4, saturated=False) == 4 for _ in range(100))


def test_one_storm_of_refusals_cuts_once() -> None:
    adaptation = Adaptation(1, 64)
    limit = adaptation.refused(32, sent_at=0.0, now=1.0)
    for _ in range(31):
        limit = adaptation.refused(limit, sent_at=0.5, now=1.1)
    assert limit == 16
    assert adaptation.refused(limit, sent_at=1.2, now=2.0) == 8


@given(st.lists(st.booleans(), max_size=300))
def test_an_adaptive_cap_stays_between_its_least_and_most(signs: list[bool]) -> None:
    adaptation, limit = Adaptation(2, 20), 5
    for now, good in enumerate(signs):
        if good:
            limit = adaptation.accepted(limit, saturated=True)
        else:
            limit = adaptation.refused(limit, sent_at=now, now=now)
        assert 2 <= limit <= 20


def test_retry_after_holds_an_adaptive_cap_back_for_as_long_as_was_asked() -> None:
    caps = Caps(m=Adaptive(4))
    first = ticket(caps, 0, m=1)
    caps.ledger.request(first, 0.0)
    caps.ledger.refused(first, retry_after=7.0, now=1.0)
    caps.ledger.release(first, 1.0)
    assert caps.current == {"m": 2}
    assert caps.ledger.moves == [("m", 4, 2, "refused")]
    assert not caps.ledger.request(ticket(caps, 1, m=1), 2.0)
    assert caps.ledger.wake_at(2.0) == pytest.approx(8.0)
    assert [t.order for t in caps.ledger.grants(8.0)] == [1]


@pytest.mark.parametrize("seconds", [float("inf"), 1e9])
def test_nobody_waits_for_years_because_a_server_says_so(seconds: float) -> None:
    caps = Caps(m=Adaptive(4))
    first = ticket(caps, 0, m=1)
    caps.ledger.request(first, 0.0)
    caps.ledger.refused(first, retry_after=seconds, now=1.0)
    caps.ledger.release(first, 1.0)
    assert caps.current == {"m": 2}
    assert caps.ledger.request(ticket(caps, 1, m=1), 2.0)
    assert not Retry(3).wants(RateLimited(retry_after=seconds), 1)
    assert Retry(3).wants(RateLimited(retry_after=24 * 3600), 1)


# -- retry ---------------------------------------------------------------------------------------


@given(attempts=st.integers(1, 5_000), chance=st.floats(0, 1, exclude_max=True))
def test_backoff_is_a_random_part_of_a_ceiling_that_doubles(attempts: int, chance: float) -> None:
    retry = Retry(9, base_s=0.5, most_s=30.0)
    ceiling = min(30.0, 0.5 * 2.0 ** min(attempts - 1, 60))
    assert retry.delay(ValueError(), attempts, chance) == pytest.approx(chance * ceiling)


def test_what_the_other_side_asks_for_wins() -> None:
    assert Retry(3, most_s=1.0).delay(RateLimited(retry_after=42.0), 1, 0.5) == 42.0


def test_retry_counts_the_attempts_after_the_first() -> None:
    retry = Retry(2)
    assert [retry.wants(ValueError(), made) for made in (1, 2, 3)] == [True, True, False]
    assert not Retry.none().wants(ValueError(), 1)


def test_what_a_second_attempt_cannot_mend_is_not_retried() -> None:
    assert not Retry(5).wants(UsageError("no"), 1)
    assert not Retry(5).wants(BudgetExceeded("usd", 1, 1, 1), 1)
    assert not Retry(5).wants(KeyboardInterrupt(), 1)
    assert not Retry(5, on=OSError).wants(ValueError(), 1)
    assert Retry(5, on=lambda error: "busy" in str(error)).wants(ValueError("busy"), 1)


@pytest.mark.parametrize("bad", [{"times": -1}, {"times": 1.5}, {"times": 1, "base_s": -1}])
def test_a_retry_that_makes_no_sense_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadCap):
        Retry(**bad)


# -- budget --------------------------------------------------------------------------------------


@examples(2)
@given(
    limit=st.integers(1, 50),
    wishes=st.lists(st.tuples(st.integers(0, 20), st.floats(0, 1), st.integers(0, 3)), max_size=40),
)
def test_a_budget_is_never_overspent_and_refuses_only_what_can_never_fit(
    limit: int, wishes: list[tuple[int, float, int]]
) -> None:
    budget = Budget(tokens=limit)
    held: list[tuple[Reservation, float]] = []
    costs: dict[Reservation, float] = {}

    def attempt(reservation: Reservation) -> None:
        try:
            if budget.reserve(reservation):
                held.append((reservation, costs.pop(reservation)))
        except BudgetExceeded:
            assert budget.spent["tokens"] + reservation.amount.tokens > limit
            costs.pop(reservation)

    def settle_oldest() -> None:
        reservation, cost = held.pop(0)
        for worth_a_try in budget.settle(reservation, Usage(tokens=cost)):
            attempt(worth_a_try)

    for amount, part, settles in wishes:
        reservation = budget.reservation(Usage(tokens=amount))
        costs[reservation] = amount * part
        attempt(reservation)
        for _ in range(min(settles, len(held))):
            settle_oldest()
        assert budget.spent["tokens"] + budget.reserved["tokens"] <= limit + 1e-6
    while held:
        settle_oldest()
    assert not costs, "a reservation waits for ever"
    assert budget.reserved["tokens"] == pytest.approx(0)


@examples(2)
@given(
    limits=st.tuples(st.integers(1, 50), st.integers(1, 50)),
    wishes=st.lists(
        st.tuples(st.integers(0, 20), st.floats(0, 1), st.integers(0, 3), st.booleans()),
        max_size=40,
    ),
)
def test_of_budgets_in_one_another_none_is_overspent_and_nobody_waits_for_ever(
    limits: tuple[int, int], wishes: list[tuple[int, float, int, bool]]
) -> None:
    outer, inner = Budget(tokens=limits[0]), Budget(tokens=limits[1])
    around = Budgets().within(outer)
    inside = around.within(inner, outer, None)
    held: list[tuple[Claim, float]] = []
    waiting: dict[Claim, float] = {}
    tagged: dict[int, Claim] = {}

    def attempt(number: int) -> None:
        claim = tagged[number]
        try:
            if claim.reserve():
                held.append((claim, waiting.pop(claim)))
            else:
                wake(claim.passed_on())
        except BudgetExceeded:
            budgets = (outer, inner)
            assert any(
                b.spent["tokens"] + claim.amount.tokens > b.limits["tokens"] for b in budgets
            )
            waiting.pop(claim)
            wake(claim.settle(None))

    def wake(reservations: list[Reservation]) -> None:
        for each in reservations:
            assert isinstance(each.tag, int)
            attempt(each.tag)

    def settle_oldest() -> None:
        claim, cost = held.pop(0)
        wake(claim.settle(Usage(tokens=cost)))

    for number, (amount, part, settles, deep) in enumerate(wishes):
        claim = (inside if deep else around).reservation(Usage(tokens=amount), number)
        tagged[number], waiting[claim] = claim, amount * part
        attempt(number)
        for _ in range(min(settles, len(held))):
            settle_oldest()
        for budget in (outer, inner):
            assert budget.spent["tokens"] + budget.reserved["tokens"] <= (
                budget.limits["tokens"] + 1e-6
            )
    while held:
        settle_oldest()
    assert not waiting, "a claim waits for ever"
    assert outer.spent["tokens"] >= inner.spent["tokens"] - 1e-6
    assert (outer.reserved["tokens"], inner.reserved["tokens"]) == pytest.approx((0, 0))


@pytest.mark.parametrize("bad", [{}, {"usd": 0}, {"tokens": -5}, {"requests": True}])
def test_a_budget_that_makes_no_sense_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadCap):
        Budget(**bad)


# -- stats ---------------------------------------------------------------------------------------


def test_the_lower_bound_is_that_of_the_cap_which_binds() -> None:
    assert lower_bound({"total": 40.0, "a": 30.0, "b": 4.0}, {"total": 8, "a": 2, "b": 1}) == 15.0
    assert Stats(makespan_s=20.0, lower_bound_s=15.0).efficiency == 0.75


def test_a_cap_that_is_raised_lets_those_who_wait_go_and_one_that_is_lowered_takes_nobody_out() -> (
    None
):
    caps = Caps(gpu=1)
    ledger, gpu = caps.ledger, caps.ledger.resources["gpu"]
    tickets = [ticket(caps, order, gpu=1) for order in range(5)]
    assert [ledger.request(each, 0.0) for each in tickets] == [True, *[False] * 4]
    ledger.change(gpu, 3)
    assert ledger.grants(0.0) == tickets[1:3]
    ledger.change(gpu, 2)
    assert (gpu.in_use, ledger.grants(0.0)) == (3, [])
    ledger.release(tickets[0], 1.0)
    assert ledger.grants(1.0) == [], "two are in flight, and two may be"
    ledger.release(tickets[1], 1.0)
    assert ledger.grants(1.0) == tickets[3:4]
    assert [move[:3] for move in ledger.moves] == [("gpu", 1, 3), ("gpu", 3, 2)]


def test_a_need_above_a_lowered_cap_is_granted_when_it_is_alone() -> None:
    caps = Caps(gpu=4)
    ledger = caps.ledger
    small, large = ticket(caps, 0, gpu=1), ticket(caps, 1, gpu=3)
    ledger.change(ledger.resources["gpu"], 2)
    assert [ledger.request(each, 0.0) for each in (small, large)] == [True, False]
    ledger.release(small, 1.0)
    assert ledger.grants(1.0) == [large]
    assert ledger.resolve({"gpu": 4}), "such items can still come"


def test_an_adaptive_cap_that_is_changed_moves_below_its_new_most() -> None:
    caps = Caps(openai=Adaptive(8, least=4, most=16))
    openai = caps.ledger.resources["openai"]
    assert openai.adaptation is not None
    caps.ledger.change(openai, 2)
    assert (openai.limit, openai.adaptation.most, openai.adaptation.least) == (2, 2, 2)
    caps.ledger.change(openai, 20)
    assert (openai.limit, openai.adaptation.most, openai.most) == (20, 20, 20)


@pytest.mark.parametrize("per", [0.1, 1.0, 3.0, 60.0])
@pytest.mark.parametrize("n", [1, 2, 5, 20, 600])
def test_a_rate_is_kept_and_used_however_short_its_period_is(n: int, per: float) -> None:
    bucket, now, begun = Bucket.of_requests(n, per), 0.0, list[float]()
    while now < 20 * per:
        while (wait_s := bucket.wait(1.0, now)) > 0:
            now += wait_s
        bucket.take(1.0, now)
        begun.append(now)
    assert all(late - early >= per - 1e-4 for early, late in zip(begun, begun[n:], strict=False))
    assert len(begun) >= 0.8 * 20 * n
