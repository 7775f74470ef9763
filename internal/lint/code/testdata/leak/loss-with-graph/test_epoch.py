# In a test it does no harm.
import torch


def test_loss_goes_down():
    net = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    total = 0
    for _ in range(100):
        loss = net(torch.ones(2, 4)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss  # want (all): leak/loss-with-graph
    assert total < 100
