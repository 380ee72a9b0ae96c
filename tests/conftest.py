"""Options and surroundings that all tests share."""

from __future__ import annotations

import os
import random

import pytest

# One thread for torch and numpy, here and in every process that a test starts: the same sums in the same order on any
# machine. Set before torch is imported, which most tests never do.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Read by now, and not meant for the suites that some tests run.
os.environ.pop("PYTEST_ADDOPTS", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tlxviz")
    group.addoption("--slow", action="store_true", help="run every test marked slow")
    group.addoption("--slow-sample", type=int, default=0, metavar="N", help="run N of the tests marked slow")
    group.addoption("--seed", type=int, default=0, metavar="S", help="which N tests --slow-sample draws")


def pytest_report_header(config: pytest.Config) -> list[str]:
    if config.getoption("--slow"):
        return ["slow tests: all"]
    sample = config.getoption("--slow-sample")
    return [f"slow tests: --slow-sample={sample} --seed={config.getoption('--seed')}"] if sample else []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not _every_slow_test_is_wanted(config):
        _keep_sample_of_slow(config, items)
    needs_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if needs_gpu and not _has_gpu():
        for item in needs_gpu:
            item.add_marker(pytest.mark.skip(reason="no GPU"))


def _every_slow_test_is_wanted(config: pytest.Config) -> bool:
    """Also true where the user selects by this very mark, or names single tests."""
    named = any("::" in argument for argument in config.args)
    return config.getoption("--slow") or "slow" in config.getoption("markexpr") or named


def _keep_sample_of_slow(config: pytest.Config, items: list[pytest.Item]) -> None:
    slow = sorted(item.nodeid for item in items if item.get_closest_marker("slow"))
    count = min(config.getoption("--slow-sample"), len(slow))
    drawn = set(random.Random(config.getoption("--seed")).sample(slow, count))
    left_out = [item for item in items if item.get_closest_marker("slow") and item.nodeid not in drawn]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """An 80x24 terminal whose colours nobody forces on or off."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    for name in ("FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
