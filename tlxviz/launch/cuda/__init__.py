"""What `torch.cuda`, and tools of torch that go by it, answer."""
