"""What a verb of the command line is."""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn, Protocol

from tlxviz._errors import UsageError
from tlxviz.commands import streams


def named(text: str) -> str:
    """An argument that names something; an empty one is a shell variable that was not set."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def operand(name: str) -> str:
    """A file's name as a shell takes it for one."""
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


class Command(Protocol):
    """One verb. Its module imports at its top only what is cheap: `tlxviz --help` loads all of them."""

    name: str
    summary: str
    """One line for the list of verbs."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it, and return the exit status. Raises TlxvizError for what the user can act on."""
        ...


class Parser(argparse.ArgumentParser):
    """A parser whose errors are tlxviz's errors."""

    def _print_message(self, message: str, file: object = None) -> None:
        streams.write(message)  # argparse's own is silent where it cannot write

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\nTry '{self.prog} --help'.")
