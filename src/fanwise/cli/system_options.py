"""Options that systems declare, as options of commands.

A command that takes them has a parameter `options`. The real parameters of the command are made
here: its own, and one for each flag that an installed system declares. Two systems may share a
flag; the file or the run decides whose it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer
from typer.core import TyperCommand
from typer.models import CommandInfo

from fanwise.errors import UsageError
from fanwise.system_options import (
    Option,
    built_in_options,
    not_an_option,
    third_party_options,
)

if TYPE_CHECKING:
    from fanwise.specs import System

Declared = Mapping[str, Sequence[Option]]
"""Options by the name of the system that declares them."""
PARAMETER = "options"


class GivenOptions:
    """The options of systems that were given to a command, by flag."""

    def __init__(
        self,
        command: str,
        declared: Declared = {},  # noqa: B006 - never changed
        values: Mapping[str, Any] = {},
        clashes: Mapping[str, str] = {},
    ) -> None:
        self._command = command
        self._declared = declared
        self._values = values
        self._clashes = clashes
        """By system: a flag that it cannot have."""

    def of(self, system: System) -> dict[str, Any]:
        """The values by the names that the system gave them. `UsageError` for those of others."""
        return self.of_kind(system.name)

    def of_kind(self, kind: str) -> dict[str, Any]:
        """The same, by the name of the system. A kind without a system has no options."""
        if kind in self._clashes:
            raise UsageError(
                f"{self._clashes[kind]}, an option of `{kind}`, is taken already",
                "Give it another flag in the package of that system",
            )
        found: dict[str, Any] = {}
        declared = self._declared if kind in self._declared else third_party_options(self._command)
        known = {each.flag: each for each in declared.get(kind, ())}
        for flag, value in self._values.items():
            if flag not in known:
                raise not_an_option(flag, kind)
            self._check_same_shape(known[flag], kind)
            found[known[flag].name] = value
        return found

    def _check_same_shape(self, option: Option, kind: str) -> None:
        """Two systems share the flag, and the parser took it as the first one declares it."""
        for other, options in self._declared.items():
            first = next((each for each in options if each.flag == option.flag), option)
            if (first.type, first.many) != (option.type, option.many):
                raise UsageError(
                    f"`{other}` and `{kind}` declare {option.flag} with different types",
                    "Rename it in one of them, or uninstall one",
                )


def declared_options(command: str, arguments: Sequence[str]) -> Declared:
    """The options of the command, as installed systems declare them.

    Third-party systems are imported only if the arguments have a flag that is not built in.
    """
    declared = built_in_options(command)
    known = {flag for options in declared.values() for each in options for flag in flags(each)}
    given = {each.partition("=")[0] for each in arguments if each.startswith("-")}
    return {**declared, **third_party_options(command)} if given - known else declared


def flags(option: Option) -> Sequence[str]:
    """As they are written on the command line."""
    return option.flags or (option.flag,)


def add_system_options(info: CommandInfo, declared: Declared) -> None:
    """Give a registered command the options of systems, if it takes any."""
    function = info.callback
    if function is None or PARAMETER not in inspect.signature(function).parameters:
        return
    info.callback = _with_parameters(function, info.name or "", declared)
    info.cls = _grouping(declared)


def _with_parameters(
    function: Callable[..., Any], command: str, declared: Declared
) -> Callable[..., Any]:
    """A function with a parameter for each option, which calls this one."""
    hints = get_type_hints(function, include_extras=True)
    own = inspect.signature(function).parameters.values()
    parameters = [
        each.replace(annotation=hints[each.name], kind=each.KEYWORD_ONLY)
        for each in own
        if each.name != PARAMETER
    ]
    taken = {flag for each in parameters for flag in _written(each)}
    by_name: dict[str, Option] = {}
    clashes: dict[str, str] = {}
    for system, option in ((name, each) for name, options in declared.items() for each in options):
        if any(each.flag == option.flag for each in by_name.values()):
            continue
        if taken.isdisjoint(flags(option)):
            taken.update(flags(option))
            by_name[f"system_option_{len(by_name)}"] = option
        else:
            clashes[system] = option.flag
    parameters += [_parameter(name, option) for name, option in by_name.items()]

    def called(**values: Any) -> Any:
        given = {option.flag: values.pop(name) for name, option in by_name.items()}
        values[PARAMETER] = GivenOptions(command, declared, _without_defaults(given), clashes)
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


def _grouping(declared: Declared) -> type[TyperCommand]:
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
