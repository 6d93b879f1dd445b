"""Files that people write: read with positions, checked completely, and the systems they are for.

`read` gives a `Document`, `check` makes a model of it; whatever is wrong is a `BadSpec` that names
file, line, column and field. `system.py` has the contract of a system, `registry.py` finds them.
"""

from fanwise.specs.check import check
from fanwise.specs.document import Document, FieldPath, Where
from fanwise.specs.functions import function
from fanwise.specs.inputs import Input, Inputs, InputsSpec
from fanwise.specs.limits import AdaptiveSpec, BudgetSpec, CapSpec, LimitsSpec, RateSpec, RetrySpec
from fanwise.specs.model import Duration, Many, Pause, SpecModel
from fanwise.specs.models import ModelSpec, OptionsSpec, PriceSpec
from fanwise.specs.read import parse, read
from fanwise.specs.registry import names, system, system_of
from fanwise.specs.system import End, Opening, Runnable, System, runnable_again, runnable_of
from fanwise.specs.template import Template
from fanwise.system_options import Option

__all__ = [
    "AdaptiveSpec",
    "BudgetSpec",
    "CapSpec",
    "Document",
    "Duration",
    "End",
    "FieldPath",
    "Input",
    "Inputs",
    "InputsSpec",
    "LimitsSpec",
    "Many",
    "ModelSpec",
    "Opening",
    "Option",
    "OptionsSpec",
    "Pause",
    "PriceSpec",
    "RateSpec",
    "RetrySpec",
    "Runnable",
    "SpecModel",
    "System",
    "Template",
    "Where",
    "check",
    "function",
    "names",
    "parse",
    "read",
    "runnable_again",
    "runnable_of",
    "system",
    "system_of",
]
