"""Workflows: a YAML file of steps, with gates, loops, fan-out and fan-in."""
