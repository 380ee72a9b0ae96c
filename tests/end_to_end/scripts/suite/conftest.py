import pytest
import torch
import triton


@pytest.fixture(scope="session")
def device():
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    torch.manual_seed(0)
    return torch.device("cuda", torch.cuda.current_device())


@pytest.fixture(autouse=True)
def fresh_compiler():
    yield
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
