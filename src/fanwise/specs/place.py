"""`on:` in files and `--on`: where the attempts of a run are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator, model_validator

from fanwise.errors import UsageError
from fanwise.kernel.workers import only_here
from fanwise.specs.document import Where
from fanwise.specs.model import Size, SpecModel

if TYPE_CHECKING:
    from fanwise.kernel.workers import WorkPlace
    from fanwise.specs.system import Runnable

OWN = "ray"
HERE = "here"
STEP = "Write ray, auto or ray://HOST:PORT"


class PlaceSpec(SpecModel):
    """`ray`, `auto`, `ray://HOST:PORT`, or a mapping that also says what each worker takes."""

    address: str = OWN
    """`ray`: a Ray of this machine's cores; else the cluster to join."""
    workers: int | None = Field(default=None, ge=1)
    """On each node, at most."""
    cpus: float = Field(default=1, gt=0)
    gpus: float = Field(default=0, ge=0)
    memory: Size | None = None
    resources: dict[str, float] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _address_alone(cls, given: Any) -> Any:
        return {"address": given} if isinstance(given, str) else given

    @field_validator("address")
    @classmethod
    def _known(cls, address: str) -> str:
        if address not in (OWN, "auto") and not address.startswith("ray://"):
            raise ValueError(f"{address!r} is no place; {STEP[0].lower()}{STEP[1:]}")
        return address

    def place(self) -> WorkPlace:
        """The place itself, which starts nothing yet."""
        from fanwise.cluster import Ray

        takes = self.model_dump(exclude={"address"})
        return Ray(None if self.address == OWN else self.address, **takes)


def refuse_place(on: PlaceSpec | None, where: Where) -> None:
    """For systems whose work is in workspaces of this machine. `BadSpec`."""
    if on is not None:
        raise where.at("on").bad(only_here(str(where.path[0]), on.address).message)


def place_of(on: str | None, kind: str, runnable: Runnable) -> WorkPlace | None:
    """What `--on` names, else what the file says. `UsageError` where a system cannot use it."""
    if on is None:
        found: WorkPlace | None = getattr(runnable, "on", None)
        return found
    if on == HERE:
        return None
    if getattr(runnable, "stays_here", False):
        raise only_here(kind, on)
    try:
        return PlaceSpec(address=on).place()
    except ValueError:
        raise UsageError(f"--on is {on!r}", f"{STEP}, or here") from None
