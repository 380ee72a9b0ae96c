"""What `do_bench` and the autotuner say on simulated time, and when outputs are computed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from tlxviz._errors import ExitCode, TlxvizError
from tlxviz.devices import load_device
from tlxviz.devices.model import Device
from tlxviz.launch.model import Launch, LaunchLog, Tuning
from tlxviz.launch.script import run_script

Writer = Callable[..., Path]


@dataclass
class Executed:
    cycles: int
    sms: int
    written: list[torch.Tensor] | None


@dataclass
class Adder:
    """Adds as the kernel `add` of the scripts does; takes as many cycles as `cycles` says."""

    cycles: Callable[[Launch], int] = lambda launch: 1640
    """1,640 cycles are a microsecond of the H200."""
    launches: list[tuple[str, bool, bool]] = field(default_factory=list[tuple[str, bool, bool]])
    """Kernel, whether values were asked for, whether it counted."""

    def __call__(self, launch: Launch) -> Executed:
        self.launches.append((launch.kernel, launch.values, launch.counted))
        tensors: list[Any] = [value for _, value in launch.parameters if isinstance(value, torch.Tensor)]
        x, y, out = tensors
        if launch.values:
            torch.add(x, y, out=out)
        return Executed(self.cycles(launch), 4, [out])


@pytest.fixture
def run(write: Writer, device: Device) -> Callable[..., LaunchLog]:
    def run_body(body: str, adder: Adder, **options: Any) -> LaunchLog:
        log = LaunchLog()
        assert run_script(write(body), [], device, adder, log, **options) == 0
        return log

    return run_body


VALUES, TIMED, TRIAL = ("add", True, True), ("add", False, True), ("add", False, False)
LATER = ("add", True, False)


def test_do_bench_runs_once_and_says_what_the_device_took(run: Callable[..., LaunchLog]):
    adder = Adder()
    log = run(
        """
        import triton.testing as testing
        launch = lambda: add[(4,)](x, y, out, 1000, BLOCK=256)
        assert testing.do_bench(launch) == 0.001
        assert testing.do_bench(launch, quantiles=[0.5, 0.2, 0.8]) == [0.001] * 3
        assert testing.do_bench(launch, quantiles=[0.5]) == 0.001
        assert testing.do_bench(launch, return_mode="all") == [0.001]
        assert testing.do_bench_cudagraph(lambda: [launch(), launch()]) == 0.002
        assert testing.do_bench(lambda: None) == 0.0005
        """,
        adder,
    )
    assert adder.launches == [TIMED] * 6
    assert log.executed == {"add": 6}


def test_outputs_of_what_was_timed_are_computed_when_they_are_looked_at(run: Callable[..., LaunchLog]):
    adder = Adder()
    run(
        """
        from triton.testing import do_bench
        do_bench(lambda: add[(4,)](x, y, out, 1000, BLOCK=256))
        assert x.shape == (1000,)
        assert torch.equal(out, x + y)
        """,
        adder,
    )
    assert adder.launches == [TIMED, LATER]


def test_what_they_are_computed_from_is_still_there(run: Callable[..., LaunchLog]):
    adder = Adder()
    run(
        """
        from triton.testing import do_bench
        wanted = x + y
        do_bench(lambda: add[(4,)](x, y, out, 1000, BLOCK=256))
        x.zero_()
        y[3:5] = 2.0
        assert torch.equal(out, wanted)
        """,
        adder,
    )
    assert adder.launches == [TIMED, LATER]


@pytest.mark.parametrize("read", ["x.untyped_storage()", "torch.from_dlpack(x)", "x.data_ptr()"])
def test_memory_that_is_handed_out_may_change_unseen(read: str, run: Callable[..., LaunchLog]):
    adder = Adder()
    run(
        f"""
        from triton.testing import do_bench
        do_bench(lambda: add[(4,)](x, y, out, 1000, BLOCK=256))
        {read}
        """,
        adder,
    )
    assert adder.launches == [TIMED, LATER]


def test_outputs_that_nobody_has_any_more_are_never_computed(run: Callable[..., LaunchLog]):
    adder = Adder()
    run(
        """
        from triton.testing import do_bench
        def call():
            result = torch.empty_like(x)
            add[(4,)](x, y, result, 1000, BLOCK=256)
            return result
        do_bench(call)
        x.zero_()
        assert torch.equal(call(), y)
        """,
        adder,
    )
    assert adder.launches == [TIMED, VALUES]


def test_a_chain_is_computed_in_order(run: Callable[..., LaunchLog]):
    adder = Adder()
    run(
        """
        from triton.testing import do_bench
        def call():
            add[(4,)](x, y, out, 1000, BLOCK=256)
            add[(4,)](out, y, out, 1000, BLOCK=256)
        do_bench(call)
        assert torch.equal(out, x + y + y)
        """,
        adder,
    )
    assert adder.launches == [TIMED, TIMED, LATER, LATER]


def test_a_launch_that_needs_them_gets_them(run: Callable[..., LaunchLog]):
    adder = Adder()
    run(
        """
        from triton.testing import do_bench
        do_bench(lambda: add[(4,)](x, y, out, 1000, BLOCK=256))
        other = torch.empty_like(x)
        add[(4,)](out, y, other, 1000, BLOCK=256)
        assert torch.equal(other, x + y + y)
        """,
        adder,
    )
    assert adder.launches == [TIMED, LATER, VALUES]


TUNED = """
    configs = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((64, 1), (128, 2), (256, 4))]
    tuned = triton.autotune(configs, key=["n"])(add)
    grid = lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)
    tuned[grid](x, y, out, 1000)
"""


def test_the_fastest_configuration_runs_and_trials_leave_no_trace(run: Callable[..., LaunchLog]):
    adder = Adder(cycles=lambda launch: 1640 * abs(launch.arguments["BLOCK"] - 120))
    log = run(
        TUNED
        + """
    assert tuned.best_config.kwargs == {"BLOCK": 128}
    assert [timing[0] for timing in tuned.configs_timings.values()] == [0.056, 0.008, 0.136]
    assert torch.equal(out, x + y)
    tuned[grid](x, y, out, 1000)
    tuned[grid](x, y, out, 999)
        """,
        adder,
    )
    assert adder.launches == [TRIAL, TRIAL, TRIAL, VALUES, VALUES, TRIAL, TRIAL, TRIAL, VALUES]
    assert log.executed == {"add": 3}
    assert log.tuned == {"add": Tuning(3, 3, 0, "BLOCK=128, num_warps=2, num_ctas=1, num_stages=3")}


def test_of_equally_fast_configurations_the_first_runs(run: Callable[..., LaunchLog]):
    body = """
@triton.autotune([triton.Config({"BLOCK": 256}, num_stages=stages) for stages in range(1, 40)], key=["n"])
@triton.jit
def tuned(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pass
x = torch.ones(1000, device="cuda")
for n in range(1000, 1010):
    tuned[(4,)](x, x, x, n)
    assert tuned.best_config.num_stages == 1
    assert len(set(map(tuple, tuned.configs_timings.values()))) == 1
"""
    run(body, Adder(lambda launch: 1971))


def test_configurations_that_do_not_fit_are_passed_over(run: Callable[..., LaunchLog]):
    log = run(
        """
        import triton.language as tl

        @triton.autotune([triton.Config({"K": k}, num_stages=s) for k, s in ((256, 4), (32, 2))], key=[])
        @triton.jit
        def product(x_ptr, y_ptr, out_ptr, K: tl.constexpr):
            rows, steps = tl.arange(0, 128), tl.arange(0, K)
            total = tl.zeros((128, 128), tl.float32)
            for start in range(0, 2048, K):
                a = tl.load(x_ptr + rows[:, None] * 2048 + start + steps[None, :])
                b = tl.load(y_ptr + (start + steps[:, None]) * 128 + rows[None, :])
                total = tl.dot(a, b, total)
            tl.store(out_ptr + rows[:, None] * 128 + rows[None, :], total)

        a = torch.randn(128, 2048, device="cuda", dtype=torch.float16)
        product[(1,)](a, a.view(2048, 128), torch.empty(128, 128, device="cuda"))
        assert product.best_config.kwargs == {"K": 32}
        """,
        lambda launch: None,  # pyright: ignore[reportArgumentType]
    )
    assert (log.tuned["product"].timed, log.tuned["product"].failed) == (2, 1)


def test_the_users_own_pruning_and_hooks_hold_in_trials(run: Callable[..., LaunchLog]):
    adder = Adder()
    run(
        """
        calls = []
        def prune(configs, named_args, **kwargs):
            return configs[1:]
        def before(nargs):
            calls.append(nargs["BLOCK"])
        configs = [triton.Config({"BLOCK": block}, pre_hook=before) for block in (64, 128, 256)]
        options = {"reset_to_zero": ["out_ptr"], "prune_configs_by": {"early_config_prune": prune}}
        tuned = triton.autotune(configs, key=["n"], **options)(add)
        tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000)
        assert calls == [128, 256, 128]
        """,
        adder,
    )
    assert adder.launches == [TRIAL, TRIAL, VALUES]


def test_a_cuda_graph_is_no_other_way_of_tuning(run: Callable[..., LaunchLog]):
    adder = Adder()
    body = TUNED.replace('key=["n"]', 'key=["n"], use_cuda_graph=True')
    run(body, adder)
    assert adder.launches == [TRIAL, TRIAL, TRIAL, VALUES]


def test_the_first_configuration_runs_without_trials(run: Callable[..., LaunchLog]):
    adder = Adder()
    log = run(TUNED, adder, first_config=True)
    assert adder.launches == [VALUES]
    assert log.tuned == {"add": Tuning(3, 0, 0, "BLOCK=64, num_warps=1, num_ctas=1, num_stages=3")}


def test_what_was_tuned_here_is_forgotten_elsewhere(write: Writer, device: Device):
    (write("").parent / "tuned_kernel.py").write_text(write("").read_text() + TUNED.replace("    ", ""))
    script = write("import tuned_kernel as t\nt.tuned[t.grid](t.x, t.y, t.out, 1000)\n", prelude="")
    first, second = Adder(), Adder(cycles=lambda launch: launch.arguments["BLOCK"])
    run_script(script, [], device, first)
    run_script(script, [], device, second)
    assert first.launches == [TRIAL, TRIAL, TRIAL, VALUES, VALUES]
    assert second.launches == [TRIAL, TRIAL, TRIAL, VALUES]


def test_configurations_that_spill_registers_are_taken_for_slower(run: Callable[..., LaunchLog]):
    run(
        """
        import triton.language as tl

        @triton.autotune([triton.Config({"WIDTH": width}, num_warps=4) for width in (32, 512)], key=[])
        @triton.jit
        def product(x_ptr, out_ptr, WIDTH: tl.constexpr):
            at = tl.arange(0, 128)[:, None] * 512 + tl.arange(0, WIDTH)[None, :]
            total = tl.zeros((128, WIDTH), tl.float32)
            for _ in range(8):
                total = tl.dot(tl.load(x_ptr + tl.arange(0, 128)[:, None] * 64 + tl.arange(0, 64)[None, :]),
                               tl.load(x_ptr + tl.arange(0, 64)[:, None] * 512 + tl.arange(0, WIDTH)[None, :]), total)
            tl.store(out_ptr + at, total)

        product[(1,)](torch.randn(512 * 128, device="cuda").half(), torch.empty(128 * 512, device="cuda"))
        small, large = (timing[0] for timing in product.configs_timings.values())
        assert small == 0.001 and large > 0.003
        """,
        lambda launch: Executed(1640, 1, []),  # pyright: ignore[reportArgumentType]
    )


def test_nothing_of_tuning_stays_behind(write: Writer, device: Device):
    (write("").parent / "kept_kernel.py").write_text(write("").read_text() + TUNED.replace("    ", ""))
    script = write("import kept_kernel as t\n", prelude="")
    run_script(script, [], device, Adder())
    tuner = sys.modules["kept_kernel"].tuned
    assert not hasattr(tuner, "best_config")
    assert not hasattr(tuner, "configs_timings")
    assert tuner.cache == {}


def test_what_triton_says_of_the_memory_bandwidth(run: Callable[..., LaunchLog]):
    expected = load_device("h200").memory.hbm_bytes_per_second / 1e9
    run(f"import triton.testing\nassert abs(triton.testing.get_dram_gbps() - {expected}) < 1\n", Adder())


class Hang(TlxvizError):
    exit_code = ExitCode.FINDINGS


def test_what_is_not_simulated_is_passed_over(run: Callable[..., LaunchLog]):
    def cycles(launch: Launch) -> int:
        if launch.arguments["BLOCK"] < 256:
            raise TlxvizError("no such operation")
        return 1640

    log = run(TUNED, Adder(cycles))
    assert log.tuned["add"] == Tuning(3, 3, 2, "BLOCK=256, num_warps=4, num_ctas=1, num_stages=3")


def test_a_configuration_that_fails_is_named(write: Writer, device: Device):
    def fail(launch: Launch) -> None:
        if launch.arguments["BLOCK"] == 128:
            raise Hang("HANG at cycle 951")

    with pytest.raises(TlxvizError) as caught:
        run_script(write(TUNED), [], device, fail)
    assert str(caught.value) == (
        "HANG at cycle 951\n\nIt was tried by the autotuner with BLOCK=128, num_warps=2, num_ctas=1, num_stages=3"
    )
