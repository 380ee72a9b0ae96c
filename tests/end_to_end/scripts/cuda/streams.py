"""Two streams, ordered by events, that are timed."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(source, target, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(target + at, tl.load(source + at, mask=inside) * factor, mask=inside)


def launch(source, target, factor):
    n = source.numel()
    scale[(triton.cdiv(n, 512),)](source, target, n, factor, BLOCK=512)


x = torch.arange(4096, dtype=torch.float32, device="cuda")
twice, thrice, total = (torch.empty_like(x) for _ in range(3))
left, right = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
print("different streams:", left != right, left.cuda_stream != right.cuda_stream, right.priority)
launch(x, twice, 1.0)  # compiled before anything is timed
torch.cuda.synchronize()

begin, middle, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
begin.record()
left.wait_stream(torch.cuda.current_stream())
right.wait_event(begin)
with torch.cuda.stream(left):
    print("left is current:", torch.cuda.current_stream() == left)
    launch(x, twice, 2.0)
    middle.record()
with torch.cuda.stream(right):
    launch(x, thrice, 3.0)
    right.wait_event(middle)
    torch.add(twice, thrice, out=total)
    total.record_stream(right)
torch.cuda.current_stream().wait_stream(right)
end.record()
end.synchronize()
print("all done:", end.query(), left.query(), right.query())
print("in order:", 0 < begin.elapsed_time(middle) < begin.elapsed_time(end))
print("total:", total[:4], torch.equal(total, 5 * x))

untimed = torch.cuda.Event()
untimed.record()
for start, stop in ((begin, untimed), (begin, torch.cuda.Event(enable_timing=True))):
    try:
        start.elapsed_time(stop)
    except ValueError as error:
        print(error)
