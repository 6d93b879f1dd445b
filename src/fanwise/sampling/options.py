"""The options that sampling takes on the command line."""

from fanwise.system_options import Option

OPTIONS: tuple[Option, ...] = ()
