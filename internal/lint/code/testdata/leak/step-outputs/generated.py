# Token ids on the GPU, of every batch of every validation.
import lightning as L


class Summarizer(L.LightningModule):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.validation_step_outputs = []

    def validation_step(self, batch, batch_idx):
        ids = self.model.generate(batch["text"], num_beams=4)
        self.validation_step_outputs.append([ids, batch["labels"]])  # want: leak/step-outputs

    def on_validation_epoch_end(self):
        for ids, labels in self.validation_step_outputs:
            print(ids, labels)
