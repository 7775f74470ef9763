# after: pytorch/serve#1003
import io

import torch
from PIL import Image
from torchvision import transforms


class Segmentor:
    def __init__(self):
        self.model = None
        self.device = None

    def initialize(self, context):
        self.device = torch.device("cuda:" + str(context.system_properties["gpu_id"]))
        self.model = torch.jit.load("model.pt").to(self.device)
        self.model.eval()

    def preprocess(self, data):
        images = [transforms.functional.to_tensor(Image.open(io.BytesIO(row["body"]))) for row in data]
        return torch.stack(images).to(self.device)

    def inference(self, batch):
        return self.model(batch)  # want (all): leak/eval-without-no-grad

    def handle(self, data, context):
        if self.model is None:
            self.initialize(context)
        masks = self.inference(self.preprocess(data))
        return masks.argmax(1).cpu().tolist()
