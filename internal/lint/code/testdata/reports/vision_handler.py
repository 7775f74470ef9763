# after: pytorch/serve#501
import io
import os

import torch
from PIL import Image
from torchvision import transforms

from .base_handler import BaseHandler


class ImageClassifier(BaseHandler):
    def initialize(self, context):
        properties = context.system_properties
        self.device = torch.device("cuda:%s" % properties.get("gpu_id") if torch.cuda.is_available() else "cpu")
        self.model = torch.jit.load(os.path.join(properties.get("model_dir"), "model.pt"), map_location=self.device)
        self.model.to(self.device)
        self.model.eval()
        self.initialized = True

    def preprocess(self, data):
        pipeline = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor()])
        return torch.stack([pipeline(Image.open(io.BytesIO(row["body"]))) for row in data])

    def inference(self, data, topk=5):
        inputs = data.to(self.device)
        outputs = self.model(inputs)  # want: leak/eval-without-no-grad
        ps = torch.softmax(outputs, dim=1)
        probs, classes = torch.topk(ps, topk, dim=1)
        return list(zip(probs.tolist(), classes.tolist()))
