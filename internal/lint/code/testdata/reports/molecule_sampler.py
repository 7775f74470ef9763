# after: khaledkah/MoreRed#25
import argparse

import torch

from morered.utils import load_denoiser, read_molecules, write_molecules


class DDPM:
    def __init__(self, process, denoiser, device="cuda"):
        self.process = process
        self.denoiser = denoiser.to(device)
        self.denoiser.eval()

    def inference_step(self, inputs, t):
        out = self.denoiser({**inputs, "t": t})  # want: leak/eval-without-no-grad
        return out["eps_pred"]

    def denoise(self, inputs, max_steps=1000):
        x_t = inputs["positions"]
        for i in reversed(range(max_steps)):
            inputs["positions"] = x_t
            noise = self.inference_step(inputs, i)
            x_t = self.process.reverse_step(x_t, noise, i)
        return x_t


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    args = parser.parse_args()
    sampler = DDPM(*load_denoiser(args.model))
    for molecule in read_molecules():
        write_molecules(sampler.denoise(molecule))
