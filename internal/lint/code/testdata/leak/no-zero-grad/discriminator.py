# after: idinvert_pytorch-reproduced#1
import torch


def loop(enc, disc, loader, opt_e, opt_d, adv):
    for real in loader:
        fake = enc(real)
        d_loss = adv(disc(real), 1) + adv(disc(fake.detach()), 0)
        d_loss.backward()
        opt_d.step()  # want: leak/no-zero-grad
        opt_e.zero_grad()
        e_loss = adv(disc(fake), 1) + (fake - real).abs().mean()
        e_loss.backward()
        opt_e.step()
