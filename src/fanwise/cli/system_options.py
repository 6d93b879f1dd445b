"""Options that systems declare, as options of commands.

A command that takes them has a parameter `options`. The real parameters of the command are made
here: its own, and one for each flag that an installed system declares. Two systems may share a
flag; the file or the run decides whose it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer
from typer.core import TyperCommand
from typer.models import CommandInfo

from fanwise.errors import UsageError
from fanwise.system_names import BUILT_IN, registered
from fanwise.system_options import (
    Option,
    built_in_options,
    not_an_option,
    third_party_options,
)

if TYPE_CHECKING:
    from fanwise.specs import System

PARAMETER = "options"


class GivenOptions:
    """The options of systems that were given to a command, by flag."""

    def __init__(self, parser: Parser, values: Mapping[str, Any]) -> None:
        self._parser = parser
        self._values = values

    def of(self, system: System) -> dict[str, Any]:
        """The values by the names that the system gave them. `UsageError` for those of others."""
        return self.of_kind(system.name)

    def of_kind(self, kind: str) -> dict[str, Any]:
        """The same, by the name of the system. A kind without a system has no options."""
        known = {each.flag: each for each in self._parser.options_of(kind)}
        for flag in self._values:
            if flag not in known:
                raise not_an_option(flag, kind)
        return {known[flag].name: value for flag, value in self._values.items()}


class Parser:
    """The parameters of one command: its own, and the options of systems.

    Third-party systems are imported only if the arguments have a flag that is not known without
    them; `arguments` is None if only the command's name matters.
    """

    def __init__(
        self, command: str, own: Sequence[inspect.Parameter], arguments: Sequence[str] | None
    ) -> None:
        self._command = command
        self._taken: dict[str, tuple[str, Option | None]] = {
            flag: ("fanwise", None) for each in own for flag in _written(each)
        }
        self.by_parameter: dict[str, Option] = {}
        self.declared: dict[str, list[Option]] = {}
        if arguments is None:
            return
        self._add(built_in_options(command))
        ours = takewhile("--".__ne__, arguments)
        if {each.partition("=")[0] for each in ours if each.startswith("-")} - self._taken.keys():
            self._add(third_party_options(command))

    def _add(self, declared: Mapping[str, Sequence[Option]]) -> None:
        self.declared |= {system: [*options] for system, options in declared.items()}
        for system, options in declared.items():
            for option in options:
                if self._taken.keys().isdisjoint(flags(option)):
                    self._taken |= dict.fromkeys(flags(option), (system, option))
                    self.by_parameter[f"system_option_{len(self.by_parameter)}"] = option

    def options_of(self, kind: str) -> Sequence[Option]:
        """What a system declares for this command. `UsageError` if that clashes with others."""
        known = kind in self.declared or kind in BUILT_IN or kind not in registered()
        declared = self.declared if known else third_party_options(self._command)
        for option in declared.get(kind, ()):
            for flag in flags(option):
                other, first = self._taken.get(flag, (kind, option))
                if first is None or first.flag != option.flag:
                    raise UsageError(
                        f"{flag}, an option of `{kind}`, is taken already by `{other}`",
                        "Give it another flag in the package of that system",
                    )
                if (first.type, first.many) != (option.type, option.many):
                    raise UsageError(
                        f"`{other}` and `{kind}` declare {flag} with different types",
                        "Rename it in one of them, or uninstall one",
                    )
        return declared.get(kind, ())


def flags(option: Option) -> Sequence[str]:
    """As they are written on the command line."""
    return option.flags or (option.flag,)


def add_system_options(info: CommandInfo, arguments: Sequence[str] | None) -> None:
    """Give a registered command the options of systems, if it takes any.

    `arguments`: those of the command line; None if only the command's name matters.
    """
    function = info.callback
    if function is None or PARAMETER not in inspect.signature(function).parameters:
        return
    hints = get_type_hints(function, include_extras=True)
    own = [
        each.replace(annotation=hints[each.name], kind=each.KEYWORD_ONLY)
        for each in inspect.signature(function).parameters.values()
        if each.name != PARAMETER
    ]
    parser = Parser(info.name or "", own, arguments)
    info.callback = _with_parameters(function, own, parser)
    info.cls = _grouping(parser.declared)


def _with_parameters(
    function: Callable[..., Any], own: Sequence[inspect.Parameter], parser: Parser
) -> Callable[..., Any]:
    """A function with a parameter for each option, which calls this one."""
    added = [_parameter(name, option) for name, option in parser.by_parameter.items()]
    parameters = [*own, *added]

    def called(**values: Any) -> Any:
        given = {option.flag: values.pop(name) for name, option in parser.by_parameter.items()}
        values[PARAMETER] = GivenOptions(parser, _without_defaults(given))
        return function(**values)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def _written(parameter: inspect.Parameter) -> Sequence[str]:
    """The flags of a command's own option."""
    info = getattr(parameter.annotation, "__metadata__", (None,))[0]
    return [
        text
        for text in (getattr(info, "default", None), *(getattr(info, "param_decls", None) or ()))
        if isinstance(text, str)
    ]


def _parameter(name: str, option: Option) -> inspect.Parameter:
    kind: Any = Literal[tuple(option.choices)] if option.choices else option.type
    if option.many:
        kind = list[kind]
    if option.type is not bool and not option.required:
        kind = kind | None
    default: Any = inspect.Parameter.empty
    if not option.required:
        default = False if option.type is bool else None
    info = typer.Option(*flags(option), metavar=option.metavar, help=option.help)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _without_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        flag: tuple(value) if isinstance(value, list) else value
        for flag, value in values.items()
        if value is not None and value is not False and value != []
    }


def _grouping(declared: Mapping[str, Sequence[Option]]) -> type[TyperCommand]:
    """A command whose help has a section for each system."""

    class Grouping(TyperCommand):
        def format_options(self, ctx: Any, formatter: Any) -> None:
            of_systems = {
                flag for all_ in declared.values() for each in all_ for flag in flags(each)
            }
            for parameter in self.get_params(ctx):
                parameter.hidden = not of_systems.isdisjoint(parameter.opts)  # type: ignore[attr-defined]
            super().format_options(ctx, formatter)
            for system, options in declared.items():
                with formatter.section(f"Options for {system}"):
                    formatter.write_dl([_help_row(each) for each in options])

    return Grouping


def _help_row(option: Option) -> tuple[str, str]:
    written = ", ".join(sorted(flags(option), key=len))
    value = option.metavar or "|".join(option.choices) or option.type.__name__.upper()
    return (written if option.type is bool else f"{written} {value}"), option.help
