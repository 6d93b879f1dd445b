"""Language models: one port, real providers, replay and simulation.

`connect` makes a model of a name, `ask` calls it within the caps and the budget around.
"""
