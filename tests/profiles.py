"""How many examples hypothesis tries: the profile says, and a test weighs itself against it.

`quick` is `make test`, `full` is `make test-all`; both are derandomised, so the same code gives
the same answer. `fuzz` is `make fuzz`: it explores with fresh seeds. A failure that it finds stays
in the test as an `@example`.
"""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import HealthCheck, Phase, settings

NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""For tests whose single example costs seconds."""


def register() -> None:
    """Register the profiles and load the one for a plain `pytest`."""
    repeatable = settings(derandomize=True, database=None, deadline=None)
    settings.register_profile("quick", repeatable, max_examples=25)
    settings.register_profile("full", repeatable, max_examples=200)
    settings.register_profile("fuzz", max_examples=2_000, deadline=None, print_blob=True)
    settings.load_profile("quick")


def examples(
    times: float,
    *,
    phases: Collection[Phase] = tuple(Phase),
    suppress: Collection[HealthCheck] = (),
) -> settings:
    """Return settings for so many times the examples of the profile."""
    number = max(1, round(times * settings().max_examples))
    return settings(max_examples=number, phases=phases, suppress_health_check=suppress)
