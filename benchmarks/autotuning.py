"""What tuning a kernel on simulated time costs beside compiling its configurations.

python benchmarks/autotuning.py [SIZE]

Tunes the wheel's `hopper_gemm_ws` over all its configurations at SIZE^3 (default 1024), and in another process only
compiles them; each with an empty cache of Triton's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SCRIPT = """
import importlib.util, json, sys, time
from pathlib import Path
import torch, triton
import triton.language.extra.tlx as tlx

path = Path(tlx.__file__).parent / "tutorials" / "hopper_gemm_ws.py"
spec = importlib.util.spec_from_file_location("hopper_gemm_ws", path)
module = sys.modules["hopper_gemm_ws"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
mode, size = sys.argv[1], int(sys.argv[2])
tuner = module.matmul_kernel_tlx_ws
a, b = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(2))
count, begin, tuned = [], time.perf_counter(), None
if mode == "compile":
    def run(tuner, *args, **options):
        tuner.nargs = dict(zip(tuner.arg_names, args))
        for config in tuner.prune_configs(options):
            full = {**tuner.nargs, **options, **config.all_kwargs()}
            if config.pre_hook:
                config.pre_hook(full)
            tuner.fn.run(*args, **{**options, "warmup": True}, **config.all_kwargs())
            count.append(config)
    type(tuner).run = run
else:
    launch = type(tuner.fn).run
    def watched(function, *args, **options):
        global tuned  # the winner's own launch, with values, is not part of tuning it
        if hasattr(tuner, "configs_timings") and tuner.configs_timings and tuned is None:
            tuned = time.perf_counter()
        return launch(function, *args, **options)
    type(tuner.fn).run = watched
module.matmul(a, b)
end = tuned or time.perf_counter()
print(json.dumps({"seconds": end - begin, "configurations": len(count or tuner.configs_timings)}))
"""


def measured(mode: str, size: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "tune.py")
        script.write_text(SCRIPT, encoding="utf-8")
        command = [sys.executable, str(ROOT / "cli.py"), "run", "-q", str(script), mode, str(size)]
        environment = os.environ | {"TRITON_CACHE_DIR": f"{folder}/cache"}
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout.splitlines()[0])


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    compiled, tuned = measured("compile", size), measured("tune", size)
    ratio = tuned["seconds"] / compiled["seconds"]
    print(f"{size}^3, {tuned['configurations']:.0f} configurations")
    print(f"compiled {compiled['seconds']:.1f} s, tuned {tuned['seconds']:.1f} s: {ratio:.3f} times")


if __name__ == "__main__":
    main()
