"""Launches a kernel, prints a line, and ends in the way that its argument names."""

import os
import signal
import sys
import time

import torch
import triton
import triton.language as tl


@triton.jit
def ones(x_ptr):
    tl.store(x_ptr + tl.program_id(0), 1.0)


x = torch.zeros(8, device="cuda")
ones[(8,)](x)
print("sum", x.sum().item(), flush=True)
how = sys.argv[1]
if how == "raise":
    raise ValueError("of the script")
if how == "exit":
    sys.exit(7)
if how == "message":
    sys.exit("went wrong")
if how == "fork":
    if os.fork() == 0:
        sys.exit(5)
    _, state = os.wait()
    print("child", os.waitstatus_to_exitcode(state))
if how == "pool":
    from multiprocessing import get_context

    with get_context("fork").Pool(2) as pool:  # which ends its workers by SIGTERM
        print(pool.map(abs, [-1, 2]))
if how in ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "SIGABRT"):
    os.kill(os.getpid(), getattr(signal, how))
    time.sleep(30)
