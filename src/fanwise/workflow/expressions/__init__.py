"""What stands inside `{{ }}` in a workflow file: parsed to a tree, then evaluated.

A grammar of its own, because the files are spec-kit's and must mean what they mean there, and
because a tree can be checked before anything runs. There is no `eval`, no call, no attribute of a
Python object: an expression reaches only into mappings and lists. From the loosest to the tightest:

    expression  = choice { "|" filter }              filters apply to all that stands before them
    choice      = both { "or" both }
    both        = denied { "and" denied }
    denied      = { "not" } comparison
    comparison  = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not" "in") sum ]
    sum         = product { ("+" | "-") product }
    product     = signed { ("*" | "/" | "%") signed }
    signed      = { "-" } operand
    operand     = (literal | list | "(" expression ")" | name) { "." word | "[" number | text "]" }
    filter      = name [ "(" [ expression { "," expression } ] ")" ]

A word may hold `-` and `:` (`steps.run-tests`, `steps.all:one:0`), so a minus needs a space before
it. Text is in '…' or "…", without escapes.
"""

from fanwise.workflow.expressions.parser import parse
from fanwise.workflow.expressions.text import Text, Value
from fanwise.workflow.expressions.values import truth

__all__ = ["Text", "Value", "parse", "truth"]
