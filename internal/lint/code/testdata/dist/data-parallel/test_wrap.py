import torch


def test_wrapped_forward():
    model = torch.nn.DataParallel(torch.nn.Linear(4, 4).cuda())  # want (all): dist/data-parallel
    assert model(torch.zeros(2, 4)).shape == (2, 4)
