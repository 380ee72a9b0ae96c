"""Kernels that check themselves against torch, at sizes that are and are not multiples of their tiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxviz._triton import toolchain
from tlxviz.commands import main
from tlxviz.commands.script_device import device_of_script

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
SCRIPTS = ROOT / "tests" / "kernels" / "scripts"

GEMM_SIZES = [(128, 256, 64), (512, 512, 512), (200, 136, 72), (1, 8, 8), (640, 1000, 1024), (129, 264, 520)]
CASES = [
    *((KERNELS / "hopper_gemm_ws.py", f"--m {m} --n {n} --k {k}") for m, n, k in GEMM_SIZES),
    *(
        (KERNELS / "plain_gemm.py", f"--m {m} --n {n} --k {k}")
        for m, n, k in [*GEMM_SIZES, (130, 70, 33), (257, 65, 1)]
    ),
    *((KERNELS / "hopper_gemm_ws.py", f"--stages {stages} --m 300 --n 520 --k 264") for stages in (2, 3)),
    (KERNELS / "hopper_gemm_ws.py", "--block-m 256 --block-n 128 --stages 3 --m 384 --n 640 --k 512"),
    (KERNELS / "hopper_gemm_ws.py", "--block-n 128 --block-k 128 --stages 2 --m 384 --n 640 --k 512"),
    *((KERNELS / "plain_gemm.py", f"--stages {stages} --m 300 --n 520 --k 264") for stages in (1, 2, 4)),
    *(
        (KERNELS / "blackwell_gemm_ws.py", f"--m {m} --n {n} --k {k} {options}")
        for m, n, k, options in [
            (1, 8, 8, ""),
            (129, 264, 520, "--ctas 2"),
            (640, 1000, 200, "--schedule clc"),
            (129, 264, 520, "--ctas 2 --schedule clc"),
        ]
    ),
    (KERNELS / "blackwell_gemm_ws.py", "--block-n 64 --block-k 128 --stages 1 --m 300 --n 200 --k 520"),
    (KERNELS / "blackwell_gemm_ws.py", "--block-n 128 --block-k 32 --ctas 2 --stages 3 --m 300 --n 200 --k 520"),
    # more tiles than CTAs: both accumulators are used again, and CTAs take tiles over
    *(
        (KERNELS / "blackwell_gemm_ws.py", f"--block-n 64 --m 2560 --n 1280 --k 64 {options}")
        for options in ("", "--ctas 2 --schedule clc")
    ),
    *(
        (KERNELS / "blackwell_fa_ws.py", f"--length {length} --dim {d} {options}")
        for length, d, options in [
            (1, 128, ""),
            (127, 64, "--causal"),
            (129, 128, "--causal --dtype bf16"),
            (600, 128, "--stages 2"),
            (600, 64, "--causal --batch 2"),
        ]
    ),
    # more tiles than CTAs
    (KERNELS / "blackwell_fa_ws.py", "--length 300 --batch 2 --heads 60 --dim 64 --causal"),
    *(
        (KERNELS / "blackwell_grouped_gemm.py", options)
        for options in (
            "--rows 1 --n 8 --k 8",
            "--rows 128,256,0,0,129 --n 264 --k 72",
            "--rows 0,0,700,1,1,0,5,128,0 --n 1000 --k 520",
            # more tiles than CTAs
            "--rows 300,20,1000,600,77,500 --n 1280 --k 64 --block-n 64 --stages 2",
        )
    ),
    (KERNELS / "plain_gemm.py", "--block-m 64 --block-n 64 --block-k 32 --m 256 --n 256 --k 256"),
    *((SCRIPTS / f"{name}.py", "") for name in ("vector_add", "fused_softmax", "layer_norm", "matmul", "elementwise")),
    (SCRIPTS / "layer_norm.py", "--columns 1"),
    (SCRIPTS / "matmul.py", "--m 128 --n 256 --k 64 --activation leaky_relu"),
    (SCRIPTS / "matmul.py", "--m 77 --n 93 --k 41 --stages 1"),
]


@pytest.mark.parametrize(
    ("script", "arguments"), [pytest.param(*case, id=f"{case[0].stem} {case[1]}") for case in CASES]
)
def test_outputs_agree_with_torch(
    script: Path, arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if script.stem.startswith("blackwell") and toolchain().distribution != "fbtriton":
        pytest.skip("triton-utlx compiles no tensor memory")
    monkeypatch.chdir(tmp_path)

    status = main(["run", "--device", device_of(script), str(script), *arguments.split()])

    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert "Warp groups" in printed.out


def device_of(script: Path) -> str:
    """What a kernel is for, also where there is a GPU of another kind."""
    return device_of_script(script) or "sim:h200"


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("blackwell_gemm_ws", "--n 100", "N is 100 and must be a multiple of 8: TMA needs rows of whole 16-byte units"),
        ("blackwell_gemm_ws", "--m 0", "M is 0 and must be 1 or more"),
        ("blackwell_gemm_ws", "--ctas 3", "CTAS is 3 and must be 1, or 2 for pairs"),
        ("blackwell_gemm_ws", "--schedule x", "the schedule is 'x' and must be one of static, clc"),
        ("blackwell_gemm_ws", "--stages 5", "STAGES is 5 and must be 1 to 4: a slot has 49152 bytes of shared memory"),
        ("blackwell_fa_ws", "--dim 32", "D is 32 and must be 64 or 128: O of two halves and S have to fit into tensor"),
        ("blackwell_fa_ws", "--length 0", "batch, heads, length and dim are (1, 2, 0, 128) and must be 1 or more"),
        ("blackwell_fa_ws", "--stages 4", "STAGES is 4 and must be 2 to 3: there is shared memory for so many blocks"),
        ("blackwell_grouped_gemm", "--rows 0", "the number of rows is 0 and must be 1 or more"),
        (
            "blackwell_grouped_gemm",
            "--rows=3,-1",
            "the rows of groups are '3,-1' and must be numbers with commas between",
        ),
        ("blackwell_grouped_gemm", "--k 12", "K is 12 and must be a multiple of 8"),
        ("blackwell_gemm_ws", "--block-n 512", "BLOCK_N is 512 and must be 64, 128 or 256: two accumulators fill"),
    ],
)
def test_bad_sizes_are_refused(
    script: str,
    arguments: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = KERNELS / f"{script}.py"
    assert main(["run", "--device", device_of(path), str(path), *arguments.split()]) == 1
    assert f"{script}: {message}" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("values", [(m, n, k) for m in (64, 1000) for n in (72, 2048) for k in (40, 2056)])
def test_larger_products_agree_with_torch(
    values: tuple[int, int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    m, n, k = map(str, values)
    for kernel in ("hopper_gemm_ws.py", "plain_gemm.py"):
        assert main(["run", "--device", "sim:h200", str(KERNELS / kernel), "--m", m, "--n", n, "--k", k]) == 0, (
            capsys.readouterr().err
        )
