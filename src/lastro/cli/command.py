"""
Registering commands: each gets the options that all commands share, and its errors become sentences and exit codes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from lastro import config
from lastro.cli.terminal import Terminal
from lastro.errors import LastroError

Command = TypeVar("Command", bound=Callable[..., Any])
PANEL = "Where and how"

_SHARED: dict[str, tuple[Any, Any]] = {
    "database_url": (
        Annotated[
            str | None,
            typer.Option(
                "--database-url",
                metavar="URL",
                help="postgresql://…, embedded:///path, mariadb://… or sqlite:///file.db. "
                f"Otherwise {config.DATABASE_URL_VARIABLE}.",
                show_default=False,
                rich_help_panel=PANEL,
            ),
        ],
        None,
    ),
    "ledger": (
        Annotated[
            str | None,
            typer.Option(
                "--ledger",
                metavar="NAME",
                help=f"The ledger, a schema of the database. Otherwise {config.LEDGER_VARIABLE}, "
                f"or {config.LEDGER_DEFAULT}.",
                show_default=False,
                rich_help_panel=PANEL,
            ),
        ],
        None,
    ),
    "as_json": (
        Annotated[
            bool,
            typer.Option("--json", help="Answer in JSON, errors too; amounts are strings.", rich_help_panel=PANEL),
        ],
        False,
    ),
}


ALL_SHARED = tuple(_SHARED)


def command(
    app: typer.Typer, name: str, *, shared: Collection[str] = ALL_SHARED, **settings: Any
) -> Callable[[Command], Command]:
    """
    Register a function as the command *name* of *app*, with the *shared* options that mean something to it.

    Its first parameter receives the Terminal.
    """

    def register(function: Command) -> Command:
        app.command(name, **settings)(on_terminal(function, shared=shared))
        return function

    return register


def on_terminal(function: Callable[..., Any], *, shared: Collection[str] = ALL_SHARED) -> Callable[..., None]:
    """
    Return *function* as Typer takes it: the Terminal made from the *shared* options, LastroErrors told and not raised.
    """
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]

    def run(**given: Any) -> None:
        terminal = Terminal(given.pop("database_url", None), given.pop("ledger", None), given.pop("as_json", False))
        try:
            function(terminal, **given)
        except typer.BadParameter as error:
            if not terminal.as_json:
                raise
            raise terminal.fail_usage(str(error)) from None
        except LastroError as error:
            raise terminal.fail(error) from None

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(each.name, keyword, default=each.default, annotation=hints[each.name]) for each in own
    ]
    parameters += [
        inspect.Parameter(name, keyword, default=default, annotation=annotation)
        for name, (annotation, default) in _SHARED.items()
        if name in shared
    ]
    # Typer reads the options from the signature, the command's help from the docstring.
    registered: Any = run
    registered.__signature__ = inspect.Signature(parameters)
    registered.__annotations__ = {each.name: each.annotation for each in parameters}
    registered.__name__, registered.__doc__ = function.__name__, function.__doc__
    return run
