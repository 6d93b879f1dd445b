"""What one leaf takes away and another begins to use is found; what is still there is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.plan.merge.removed_names import broken_names
from fanwise.plan.model.merge_result import BrokenName
from fanwise.workspaces.git import Git
from tests.plan.merge.support import Content, change, merge, repository

PRICES = '''\
"""Prices."""
RATE = 0.19
LIMIT: int = 100


def total(items):
    """Add them up."""
    found = 0
    for item in items:
        found += item.price
    return found


def other():
    return 1


class Basket:
    size = 3

    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)
        return self

    def clear(self):
        self.items = []


class Big(Basket):
    def more(self):
        return 1
'''
FILES = {
    "src/shop/__init__.py": "from .prices import other, total\nfrom shop.star import *\n",
    "src/shop/prices.py": PRICES,
    "src/shop/star.py": "def shining():\n    return 1\n",
    "src/shop/old.py": "def ancient():\n    return 'old'\n\n\nA = 1\n",
    "src/shop/cart.py": "import os\n\n\ndef cart():\n    return os.name\n",
    "src/shop/deep/__init__.py": "",
    "src/shop/deep/far.py": "X = 1\n",
    "tools.py": "def hammer():\n    return 1\n",
    "run.py": "print(1)\n",
}
USER = "src/shop/cart.py"


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Git:
    with pytest.MonkeyPatch.context() as patched:
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
            patched.setenv(name, "/dev/null")
        return repository(tmp_path_factory.mktemp("symbols") / "r", FILES)


def found(user: Git, *edits: dict[str, Content]) -> tuple[BrokenName, ...]:
    changes = [change(user, name, each) for name, each in zip("ABCD", edits, strict=False)]
    merged = merge(user, "HEAD", changes)
    assert not merged.conflicts, "it merges cleanly, and breaks"
    return broken_names(user, "HEAD", merged.tree, changes)


RENAMED = PRICES.replace("def total", "def sum_up")
NO_TOTAL = PRICES.replace(PRICES[PRICES.index("def total") : PRICES.index("def other")], "")
NEW_METHOD = PRICES.replace("def add", "def put")

USES = {
    "from-import": "from shop.prices import total\n",
    "renamed here": "from shop.prices import total as t\nt(1)\n",
    "module.attribute": "import shop.prices\n\nshop.prices.total([])\n",
    "with another name": "import shop.prices as p\n\n\ndef f():\n    return p.total([])\n",
    "from a package": "from shop import prices\nprint(prices.total)\n",
    "relative": "from .prices import total\n",
    "relative module": "from . import prices\nprices.total([])\n",
    "inside a function": "def f():\n    from shop.prices import total\n    return total\n",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("order", ["used last", "used first"])
def test_a_rename_and_a_new_caller_are_found_and_named(user: Git, use: str, order: str) -> None:
    edits: list[dict[str, Content]] = [{"src/shop/prices.py": RENAMED}, {USER: USES[use]}]
    if order == "used first":
        edits.reverse()
    (one,) = found(user, *edits)
    assert (one.name, one.path, one.removed_from) == (
        "shop.prices.total",
        USER,
        "src/shop/prices.py",
    )
    assert one.line in range(1, USES[use].count("\n") + 1)
    assert "total" in USES[use].splitlines()[one.line - 1]
    assert (one.used_by, one.removed_by) == (("B", "A") if order == "used last" else ("A", "B"))


def test_a_constant_that_is_gone_is_found(user: Git) -> None:
    gone = PRICES.replace("LIMIT: int", "MOST: int")
    (one,) = found(user, {"src/shop/prices.py": gone}, {USER: "from shop.prices import LIMIT\n"})
    assert one.name == "shop.prices.LIMIT"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from shop.old import ancient\n", "shop.old.ancient"),
        ("import shop.old\n", "shop.old"),
        ("from shop import old\nold.ancient()\n", "shop.old"),
        ("from . import old\n", "shop.old"),
        ("from .old import A\n", "shop.old.A"),
    ],
)
def test_a_module_that_is_renamed_and_newly_imported_is_found(
    user: Git, text: str, name: str
) -> None:
    moved: dict[str, Content] = {
        "src/shop/old.py": None,
        "src/shop/new.py": FILES["src/shop/old.py"],
    }
    one = found(user, moved, {USER: text})[0]
    assert one.name == name
    assert (one.used_by, one.removed_by, one.removed_from) == ("B", "A", "src/shop/old.py")


def test_a_module_at_the_top_that_is_deleted_is_found(user: Git) -> None:
    (one,) = found(user, {"tools.py": None}, {"run.py": "import tools\n"})
    assert (one.name, one.removed_by) == ("tools", "A")
    (one,) = found(user, {"tools.py": None}, {"run.py": "from tools import hammer\n"})
    assert one.name == "tools.hammer"


QUIET: dict[str, tuple[str, str]] = {
    "still defined": (RENAMED + "\n\ntotal = sum_up\n", USES["from-import"]),
    "re-exported": (NO_TOTAL + "\n\nfrom .old import ancient as total\n", USES["from-import"]),
    "comes by a star": (NO_TOTAL + "\n\nfrom elsewhere import *\n", USES["from-import"]),
    "made on demand": (
        NO_TOTAL + "\n\ndef __getattr__(name):\n    return 1\n", USES["from-import"],
    ),
    "does not parse": (NO_TOTAL + "\n\ndef (:\n", USES["from-import"]),
    "caught": (
        RENAMED, "try:\n    from shop.prices import total\nexcept ImportError:\n    total = None\n",
    ),
    "another of that name": (RENAMED, "from elsewhere.prices import total\n"),
    "a variable of that name": (RENAMED, "def f(prices):\n    return prices.total\n"),
    "hidden by a parameter": (
        RENAMED, "from shop import prices\n\n\ndef f(prices):\n    return prices.total\n",
    ),
    "another name of the module": (RENAMED, "from shop.prices import other, RATE\nprint(RATE)\n"),
    "an attribute of a value": (NEW_METHOD, "from shop.prices import RATE\nRATE.add\n"),
    "a class that may have it from elsewhere": (
        NEW_METHOD.replace("class Basket:", "class Basket(elsewhere.Base):"),
        "from shop.prices import Basket\nBasket().add(1)\n",
    ),
    "never there": (RENAMED, "from shop.prices import nonsense\n"),
    "only a word": (RENAMED, "# total\nprint('total')\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", QUIET)
def test_no_alarm_where_nothing_is_known_to_break(user: Git, case: str) -> None:
    prices, text = QUIET[case]
    assert found(user, {"src/shop/prices.py": prices}, {USER: text}) == ()


def test_a_use_that_was_there_before_is_the_checks_business(tmp_path: Path) -> None:
    used = {**FILES, USER: USES["from-import"]}
    user = repository(tmp_path / "r", used)
    assert (
        found(user, {"src/shop/prices.py": RENAMED}, {USER: USES["from-import"] + "x = 1\n"}) == ()
    )


def test_an_import_that_gives_an_old_line_another_meaning_is_found(tmp_path: Path) -> None:
    line = "\n\ndef f():\n    return prices.total\n"
    user = repository(tmp_path / "r", {**FILES, USER: f"from elsewhere import prices{line}"})
    edits: dict[str, Content] = {USER: f"from shop import prices{line}"}
    (one,) = found(user, {"src/shop/prices.py": RENAMED}, edits)
    assert (one.name, one.line) == ("shop.prices.total", 4)


def test_a_leaf_that_does_both_itself_knows_what_it_does(user: Git) -> None:
    assert found(user, {"src/shop/prices.py": RENAMED, USER: USES["from-import"]}) == ()


def test_a_new_file_is_a_user_too_and_a_third_leaf_may_mend_it(user: Git) -> None:
    new: dict[str, Content] = {"src/shop/fresh.py": USES["from-import"]}
    assert [each.path for each in found(user, {"src/shop/prices.py": RENAMED}, new)] == [
        "src/shop/fresh.py"
    ]
    assert found(user, new) == ()


def test_files_that_are_no_python_or_hostile_do_no_harm(user: Git) -> None:
    deep = "(" * 5_000 + ")" * 5_000
    edits: dict[str, Content] = {
        "src/shop/prices.py": RENAMED,
        "bad.py": b"\xff\0\xfe from shop.prices import total\n",
        "deep.py": f"from shop.prices import total\nx = {deep}\n",
        "total.txt": "from shop.prices import total\n",
    }
    rest = {name: text for name, text in edits.items() if name != "src/shop/prices.py"}
    assert found(user, {"src/shop/prices.py": RENAMED}, rest) == ()
