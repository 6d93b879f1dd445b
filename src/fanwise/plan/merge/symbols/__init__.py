"""The symbol gate: names that one leaf took away and another began to use.

Such changes touch no common line, merge cleanly, and break. Python files are looked at, by their
syntax trees, and JavaScript and TypeScript, by a scan; other languages are left to the check.
"""

from fanwise.plan.merge.symbols.gate import broken

__all__ = ["broken"]
