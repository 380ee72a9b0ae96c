"""Launches and tensors in threads that the script starts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tlxviz._errors import TlxvizError
from tlxviz.devices.model import Device
from tlxviz.launch.model import Launch
from tlxviz.launch.script import run_script

Runner = Callable[..., Any]
Writer = Callable[..., Path]

WORK = """
import threading

def work():
    made = torch.ones(1000, device="cuda")
    assert made.is_cuda
    add[(4,)](made, made, made, 1000, BLOCK=256)

"""


@pytest.mark.parametrize(
    "start",
    [
        "threads = [threading.Thread(target=work) for _ in range(4)]\n",
        "class Worker(threading.Thread):\n    def run(self):\n        work()\nthreads = [Worker() for _ in range(4)]\n",
        "threads = [threading.Timer(0, work) for _ in range(4)]\n",
    ],
    ids=["target", "subclass", "timer"],
)
@pytest.mark.parametrize("wait", ["[thread.join() for thread in threads]\n", ""], ids=["joined", "left running"])
def test_threads_see_the_stand_in(run: Runner, start: str, wait: str):
    assert len(run(WORK + start + "[thread.start() for thread in threads]\n" + wait).launches) == 4
    assert "start_in_mode" not in threading.Thread.start.__qualname__


def test_a_pool_of_threads(run: Runner):
    body = WORK + "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as pool:\n"
    assert len(run(body + "    for done in [pool.submit(work) for _ in range(5)]: done.result()\n").launches) == 5


def test_one_launch_at_a_time(write: Writer, device: Device):
    running, most = 0, 0

    def execute(_launch: Launch) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.02)
        running -= 1

    script = write(WORK + "for _ in range(4):\n    threading.Thread(target=work).start()\n")
    assert run_script(script, [], device, execute) == 0
    assert most == 1


def test_what_execute_raises_in_a_thread_is_raised(write: Writer, device: Device):
    def execute(_launch: Launch) -> None:
        raise TlxvizError("the kernel hangs")

    with pytest.raises(TlxvizError, match="the kernel hangs"):
        run_script(write(WORK + "threading.Thread(target=work).start()\n"), [], device, execute)


def test_what_a_thread_of_the_script_raises_is_printed_without_our_frames(
    run: Runner, capsys: pytest.CaptureFixture[str]
):
    body = (
        "import threading\ndef fail():\n    raise ValueError('mine')\nthreading.Thread(target=fail, name='T').start()\n"
    )
    assert run(body).status == 0
    printed = capsys.readouterr().err
    assert printed.startswith("Exception in thread T:\nTraceback (most recent call last):\n")
    assert printed.endswith("ValueError: mine\n")
    assert "tlxviz/launch" not in printed


def test_a_daemon_that_outlives_the_script_ends_without_a_word(run: Runner, capsys: pytest.CaptureFixture[str]):
    body = (
        "def serve():\n    while True:\n        work()\n        time.sleep(0.01)\n"
        "daemon = threading.Thread(target=serve, daemon=True)\ndaemon.start()\nwork()\n"
    )
    run("import time\n" + WORK + body)
    [daemon] = [thread for thread in threading.enumerate() if thread.daemon and "serve" in thread.name]
    daemon.join(10)
    assert not daemon.is_alive()
    assert capsys.readouterr().err == ""
