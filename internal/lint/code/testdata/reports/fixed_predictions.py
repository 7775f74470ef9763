# after: MarvinLvn/voice-type-classifier#12
import torch

@torch.inference_mode()
def predict_all(model, dataloader):
    model.eval()
    predictions = []
    for batch in dataloader:
        predictions.append(model(batch.cuda()).cpu())
    return predictions
