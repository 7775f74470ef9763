import torch


class Sampler:
    def decode(self, latents, tile=1024):
        try:
            return self.vae.decode(latents, tile)
        except torch.OutOfMemoryError:
            return self.decode(latents, tile // 2)  # want: leak/exception-frame
