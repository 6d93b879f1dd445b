"""The side of the check that runs beside the user's code. It needs nothing but Python itself.

Modules here import one another relatively: in a child the package is called `fanwise_child`.
"""
