from project.engine import Trainer


def main(model, metrics):
    return Trainer(model=model, compute_metrics=metrics)
