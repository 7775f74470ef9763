# after: OpenNMT/OpenNMT-py#1141
class Trainer(object):
    def __init__(self, model, valid_loss):
        self.model = model
        self.valid_loss = valid_loss

    def validate(self, valid_iter):
        """Validate the model; returns statistics."""
        self.model.eval()
        stats = Statistics()
        for batch in valid_iter:
            outputs, attns = self.model(batch.src, batch.tgt, batch.lengths)  # want: leak/eval-without-no-grad
            stats.update(self.valid_loss.monolithic_compute_loss(batch, outputs, attns))
        self.model.train()
        return stats
