"""Who proposes candidates. A port: a language model, a command, or what a test gives.

One `propose` is one answer of one call, so that the first of eight is checked while the others
are still awaited; whoever wants eight asks eight times, each time with its `number`. All of it is
plain data, so that an ask and what came of it can be kept in a journal: an answer is paid for once.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from fanwise.optimize.candidates.candidate import Candidate, How, Kind
from fanwise.optimize.verdict import CandidateVerdict


class Feedback(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the candidate that the next one shall be made from."""

    verdict: CandidateVerdict
    source: str = ""
    """The target as that candidate has it; empty: it is only in the verdict's patch."""
    profile: str = ""
    """Where its time goes, line by line, as text."""


class ProposalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for one proposal, with all that it depends on."""

    target: str
    """`src/pkg/graph.py::find`; empty: there is none, and a patch of anything may be proposed."""
    source: str = ""
    """The target as it is now, decorators included."""
    file: str = ""
    """The whole text of its file; how much of it is shown is the proposer's affair."""
    profile: str = ""
    """Where the time of the original goes, line by line, as text."""
    number: int = 0
    """Which one this is, of `n`: no two shall be alike."""
    n: int = 1
    feedback: Feedback | None = None
    """None for a first proposal."""
    round: int = 0

    @property
    def how(self) -> How:
        """What a candidate of this ask is called: an accepted one is refined, another repaired."""
        if self.feedback is None:
            return "proposed"
        return "refined" if self.feedback.verdict.status == "accepted" else "repaired"

    @property
    def parent(self) -> Candidate | None:
        """The candidate that the proposal is based on."""
        return None if self.feedback is None else self.feedback.verdict.candidate

    @property
    def name(self) -> str:
        """The name of a candidate that answers this ask."""
        if self.parent is None:
            return f"proposal {self.number + 1}"
        return f"{self.parent.name}, {self.how}"

    @property
    def function(self) -> str:
        """The target's own name, without its file and class; empty: there is no target."""
        return self.target.rpartition("::")[2].rpartition(".")[2]

    def candidate(
        self, kind: Kind, content: str, *, name: str = "", path: str | None = None
    ) -> Candidate:
        """A candidate that answers this ask."""
        parent = None if self.parent is None else self.parent.key
        return Candidate.make(
            name or self.name, kind, content,
            path=path, parent=parent, how=self.how, round=self.round,
        )  # fmt: skip


class Unusable(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is no candidate. It is told, and never dropped in silence."""

    name: str
    """The name that the candidate would have had."""
    reason: str
    """In one line."""
    answer: str = ""
    """The beginning of the answer."""


class Proposals(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one ask. JSON-able: the value of an item."""

    candidates: tuple[Candidate, ...] = ()
    """Usually one; a command can return several."""
    unusable: tuple[Unusable, ...] = ()


class Proposer(Protocol):
    """Makes candidates. What it gives is data: nothing of it is run here."""

    @property
    def name(self) -> str:
        """The model or the command."""

    async def propose(self, ask: ProposalRequest) -> Proposals:
        """Answer one ask, inside an item of a fan-out, whose caps and budget hold.

        An answer that is none is in `unusable`. That there was no answer is an error: of the
        model (`ModelError`), or `CommandFailed`.
        """
