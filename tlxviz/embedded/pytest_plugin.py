"""`pytest --tlxviz-check`: each kernel launch of a test suite is checked, and a test fails by what is found in its own.

Pytest imports this module whether or not the option is given, so nothing else is imported at its top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_PLUGIN = "tlxviz-checking"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tlxviz", "kernels on a simulated GPU")
    add = group.addoption
    add("--tlxviz-check", action="store_true", help="check every kernel launch for races, hangs and wrong counts")
    add("--tlxviz-strict", action="store_true", help="with --tlxviz-check: warnings fail tests too")
    add(
        "--tlxviz-device",
        metavar="DEVICE",
        help="with --tlxviz-check: the simulated GPU, such as sim:b200 (default: the machine's own, or sim:h200)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--tlxviz-check"):
        return
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        return  # pytest-xdist's own workers run the tests
    import pytest

    from tlxviz._errors import TlxvizError
    from tlxviz.embedded.checking import SuiteCheck

    try:
        check = SuiteCheck(config.getoption("--tlxviz-device"), strict=bool(config.getoption("--tlxviz-strict")))
    except TlxvizError as error:
        raise pytest.UsageError(str(error)) from error
    config.pluginmanager.register(check, _PLUGIN)
    config.add_cleanup(check.close)
