"""Starts a program of `fanwise_child` so that no module of the project is taken for ours.

The folders of the project are not on the path until the program puts them there, and by then all
that it needs itself is imported. The environment has the project's own `PYTHONPATH` again once
Python has started: for the processes that the project's code starts.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120

import runpy

if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.environ.pop("FANWISE_PYTHONPATH", "")
    runpy.run_module(f"fanwise_child.{sys.argv[1]}", run_name="__main__", alter_sys=True)
