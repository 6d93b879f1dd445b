"""What a function of the user's is: other code, or other things that it holds, is another key."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fanwise.matrix import Matrix, Subject, copy_of, run_matrix_sync
from fanwise.matrix.answers.code import code_of

Strategy = Callable[[Subject], str]


def say(subject: Subject, word: str = "", **more: Any) -> str:
    return f"{subject.input['text']} {word}"


def applied(word: str) -> Strategy:
    return partial(say, word=word)


def nested(word: str) -> Strategy:
    return partial(partial(say), word=word)


def closed(word: str) -> Strategy:
    return lambda subject: say(subject, word)


def closed_over_a_function(word: str) -> Strategy:
    inner = closed(word)
    return lambda subject: inner(subject)


def closed_over_a_list_of_functions(word: str) -> Strategy:
    inner = [closed(word)]
    return lambda subject: inner[0](subject)


def by_default(word: str) -> Strategy:
    def answer(subject: Subject, word: str = word) -> str:
        return say(subject, word)

    return answer


def by_keyword_default(word: str) -> Strategy:
    def answer(subject: Subject, *, word: str = word) -> str:
        return say(subject, word)

    return answer


def decorated(word: str) -> Strategy:
    def decorate(function: Callable[[Subject, str], str]) -> Strategy:
        @wraps(function)
        def wrapper(subject: Subject) -> str:
            return function(subject, word)

        return wrapper

    return decorate(say)


class Saying:
    def __init__(self, word: str) -> None:
        self.word = word
        self.lock = threading.Lock()

    def __call__(self, subject: Subject) -> str:
        return say(subject, self.word)

    def method(self, subject: Subject) -> str:
        return say(subject, self.word)


class Slotted:
    __slots__ = ("unset", "word")

    def __init__(self, word: str) -> None:
        self.word = word

    def __call__(self, subject: Subject) -> str:
        return say(subject, self.word)


@dataclass
class Data:
    word: str

    def __call__(self, subject: Subject) -> str:
        return say(subject, self.word)


class Struct(msgspec.Struct):
    word: str

    def __call__(self, subject: Subject) -> str:
        return say(subject, self.word)


def method(word: str) -> Strategy:
    return Saying(word).method


def closed_over_data(word: str) -> Strategy:
    data = {"words": (Data(word), float("nan"))}
    return lambda subject: say(subject, data["words"][0].word)


def recursive(word: str) -> Strategy:
    def answer(subject: Subject, often: int = 1) -> str:
        return answer(subject, often - 1) if often else say(subject, word)

    return answer


MAKERS = [
    applied, nested, closed, closed_over_a_function, closed_over_a_list_of_functions, by_default,
    by_keyword_default, decorated, Saying, Slotted, Data, Struct, method, closed_over_data,
    recursive,
]  # fmt: skip


@pytest.mark.parametrize("make", MAKERS)
def test_what_a_function_holds_is_a_part_of_it(make: Callable[[str], Strategy]) -> None:
    assert code_of(make("a")) == code_of(make("a"))
    assert code_of(make("a")) != code_of(make("b"))
    msgspec.json.encode(code_of(make("a")))


def test_two_that_hold_the_same_are_not_the_same_for_that() -> None:
    found = [msgspec.json.encode(code_of(make("a"))) for make in (closed, Saying, Data, applied)]
    assert len(set(found)) == 4


def test_what_is_no_data_is_its_type() -> None:
    def using(client: object) -> Callable[[], object]:
        return lambda: client

    assert code_of(using(object())) == code_of(using(object()))
    assert code_of(using(object())) != code_of(using(threading.Lock()))


def test_what_a_cached_function_has_seen_is_no_part_of_it() -> None:
    @cache
    def double(number: int) -> int:
        return 2 * number

    before = code_of(double)
    double(4)
    assert code_of(double) == before


@pytest.mark.parametrize("given", [len, str.upper, "x".join, Saying, print])
def test_anything_that_can_be_called_has_a_name_at_least(given: Any) -> None:
    assert code_of(given) == code_of(given)
    msgspec.json.encode(code_of(given))


INPUTS = [{"id": "a", "text": "hello"}]


@pytest.mark.parametrize("make", [applied, closed, Saying])
def test_answers_of_another_word_are_not_taken_for_these(
    tmp_path: Path, make: Callable[[str], Strategy]
) -> None:
    for word in ("one", "two"):
        made = Matrix("words", inputs=INPUTS, prompts={"say": make(word)})
        result = run_matrix_sync(made, journal=tmp_path / "j.db")
        assert [each.answer and each.answer["text"] for each in result.cells] == [f"hello {word}"]


def test_scores_of_another_threshold_are_not_taken_for_these(tmp_path: Path) -> None:
    def score(answer: str, given: Mapping[str, Any], *, least: int) -> bool:
        return len(answer) >= least

    for least in (3, 30):
        scorer = {"call": partial(score, least=least), "name": "long"}
        made = Matrix("long", inputs=INPUTS, prompts={"c": copy_of("text")}, score=scorer)
        result = run_matrix_sync(made, journal=tmp_path / "j.db")
        assert [each.scores["long"].score for each in result.cells] == [float(least == 3)]
