"""The symbol gate: names that one leaf took away and another began to use.

Such changes touch no common line, merge cleanly, and break. Only Python files are looked at, by
their syntax trees; other languages are left to the check of the merged tree.
"""

from fanwise.plan.merge.symbols.gate import broken

__all__ = ["broken"]
