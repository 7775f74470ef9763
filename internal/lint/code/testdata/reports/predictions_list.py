# after: MarvinLvn/voice-type-classifier#12
import torch

def predict_all(model, dataloader):
    model.eval()
    predictions = []
    for batch in dataloader:
        p = model(batch.to(torch.device("cuda:0")))  # want: leak/eval-without-no-grad
        predictions.append(p)  # want: leak/list-with-graph
    return predictions
