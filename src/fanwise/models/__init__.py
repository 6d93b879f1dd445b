"""Language models: one port, real providers, a local model, replay and simulation.

`connect` makes a model of a name, `ask` calls it within the caps and the budget around.
"""

from fanwise.models.ask import MODEL_RETRY, ask, worth_a_retry
from fanwise.models.connect import connect
from fanwise.models.names import Price, Spec
from fanwise.models.pieces import Piece
from fanwise.models.port import (
    File,
    Message,
    Model,
    Options,
    Reply,
    Request,
    TokenProbability,
    Tokens,
    Tool,
    ToolCall,
)
from fanwise.models.replay import record
from fanwise.models.stream import ReplyStream, stream
from fanwise.models.tools import tool_of

__all__ = [
    "MODEL_RETRY",
    "File",
    "Message",
    "Model",
    "Options",
    "Piece",
    "Price",
    "Reply",
    "ReplyStream",
    "Request",
    "Spec",
    "TokenProbability",
    "Tokens",
    "Tool",
    "ToolCall",
    "ask",
    "connect",
    "record",
    "stream",
    "tool_of",
    "worth_a_retry",
]
