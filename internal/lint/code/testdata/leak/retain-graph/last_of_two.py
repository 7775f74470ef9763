# after: toward-controlled-generation-of-text-pytorch#9
import torch


def epoch(gen, disc, g_opt, d_opt, loader, bce, device):
    for real in loader:
        real = real.to(device)
        fake = gen(torch.randn(len(real), 64, device=device))
        d_loss = bce(disc(real), torch.ones(len(real), 1, device=device)) + bce(disc(fake), torch.zeros(len(real), 1, device=device))
        d_opt.zero_grad()
        d_loss.backward(retain_graph=True)
        d_opt.step()
        g_loss = bce(disc(fake), torch.ones(len(real), 1, device=device))
        g_opt.zero_grad()
        g_loss.backward(retain_graph=True)  # want: leak/retain-graph
        g_opt.step()
