"""Who proposes candidates, as the file says."""

from __future__ import annotations

import shlex

from fanwise.models.ask import MODEL_RETRY, worth_a_retry
from fanwise.models.connect import connect
from fanwise.models.port import Model
from fanwise.optimize.propose.by_command import CommandProposer
from fanwise.optimize.propose.by_model import ModelProposer
from fanwise.optimize.propose.port import Proposer
from fanwise.optimize.spec.optimize_spec import ProposeSpec
from fanwise.specs import Where


def proposer_of(spec: ProposeSpec, where: Where, cwd: str) -> Proposer:
    """Who answers, ready to be asked. `FanwiseError` if a key is missing."""
    if spec.command is not None:
        return CommandProposer(shlex.split(spec.command), cwd=cwd, timeout=spec.timeout)
    assert spec.model is not None
    own: Model | None = where.document.objects.get(spec.model.name)
    return ModelProposer(
        connect(spec.model.spec()) if own is None else own,
        options=spec.options.options(),
        retry=MODEL_RETRY if spec.retry is None else spec.retry.retry(worth_a_retry),
        timeout=spec.timeout,
    )
