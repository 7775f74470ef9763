from pathlib import Path


def checkpoint(model, path):
    """Writes the weights: another word with the same letters."""
    Path(path).write_bytes(model.dump())


def train(model, steps):
    for step in range(steps):
        checkpoint(model, f"step-{step}.bin")
