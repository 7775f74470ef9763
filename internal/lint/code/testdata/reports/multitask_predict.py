# after: namisan/mt-dnn#92
import torch
from torch import nn

from .matcher import SANBertNetwork


class MTDNNModel:
    def __init__(self, opt, state_dict=None):
        self.config = opt
        self.network = SANBertNetwork(opt)
        if state_dict:
            self.network.load_state_dict(state_dict["state"], strict=False)
        self.mnetwork = nn.DataParallel(self.network) if opt["multi_gpu_on"] else self.network
        self.network.cuda()

    def predict(self, batch_meta, batch_data):
        self.network.eval()
        inputs = batch_data[: batch_meta["input_len"]]
        score = self.mnetwork(*inputs)  # want: leak/eval-without-no-grad
        if batch_meta["pairwise"]:
            score = score.contiguous().view(-1, batch_meta["pairwise_size"])
        score = torch.softmax(score, dim=1).data.cpu()
        predict = score.argmax(dim=1).tolist()
        return score.reshape(-1).tolist(), predict, batch_meta["label"]


def eval_model(model, data):
    predictions, golds = [], []
    for batch_meta, batch_data in data:
        _, pred, gold = model.predict(batch_meta, batch_data)
        predictions.extend(pred)
        golds.extend(gold)
    return predictions, golds
