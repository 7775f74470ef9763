import click
import torch


@click.command()
@click.pass_context
def main(ctx, path):
    ctx.weights = torch.load(path, map_location="cpu")
    ctx.obj = torch.zeros(3)


class Session:
    def forward(self, x):
        self.last = x.clone()
        return self.last.sum()
