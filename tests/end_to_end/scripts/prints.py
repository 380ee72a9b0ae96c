"""Writes to stdout in several ways. With a GPU it launches a kernel in between, which prints nothing."""

import atexit
import logging
import os
import subprocess
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def ones(x_ptr):
    tl.store(x_ptr + tl.program_id(0), 1.0)


logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(message)s", level=logging.INFO)
atexit.register(lambda: sys.stderr.write("over\n"))
print("first", __name__, os.path.basename(__file__), len(sys.argv))
sys.stdout.write("no newline, ")
sys.stdout.flush()
if torch.cuda.is_available():
    x = torch.zeros(8, device="cuda")
    ones[(8,)](x)
sys.stdout.buffer.write("bytes: é\n".encode())
sys.stdout.flush()
subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
os.write(1, b"past Python\n")
logging.getLogger("script").info("logged")
print(torch.arange(3.0), "last", sep=" | ")
