"""Executes a workflow on the kernel, so that a resume repeats nothing that finished.

Every leaf (a shell step, a prompt, a gate's answer …) is one recorded item, whose key is its path
in the execution: `build`, `loop:check:2`, `each:review:3`. What stands between leaves (conditions,
loops, switches) is not recorded to be resumed: it is computed again from the recorded outputs, and
so comes to the same place.
"""
