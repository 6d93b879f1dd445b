"""Trees of Python source, made in many threads at once."""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fanwise.kernel.parse_python import parse

SOURCE = "".join(
    f"def f{n}(a, b=({n}, [1, 2])):\n    return [a for _ in b if a]\n" for n in range(40)
)


@pytest.fixture
def interrupted() -> Iterator[None]:
    """Python code runs inside of every collection, and threads change often."""

    def look(phase: str, info: dict[str, int]) -> None:
        for _ in range(20):
            pass

    every, often = gc.get_threshold(), sys.getswitchinterval()
    gc.callbacks.append(look)
    gc.set_threshold(20)
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(often)
    gc.set_threshold(*every)
    gc.callbacks.remove(look)


@pytest.mark.usefixtures("interrupted")
def test_threads_do_not_disturb_one_another() -> None:
    wanted = ast.dump(ast.parse(SOURCE))
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(parse, [SOURCE] * 64))
    assert {ast.dump(tree) for tree in found} == {wanted}


def test_what_is_wrong_with_the_text_is_said() -> None:
    with pytest.raises(SyntaxError) as caught:
        parse("def", "a.py")
    assert caught.value.filename == "a.py"
