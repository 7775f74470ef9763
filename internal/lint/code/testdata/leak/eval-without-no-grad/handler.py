# after: pytorch/serve#1003
import torch


class Handler:
    def initialize(self, context):
        self.device = torch.device("cuda", context.gpu)
        self.model = torch.jit.load("model.pt").to(self.device)
        self.model.eval()

    def inference(self, batch):
        return self.model(batch)  # want (all): leak/eval-without-no-grad

    def handle(self, data, context):
        return self.inference(torch.stack(data).to(self.device)).argmax(1).tolist()


class Upscaler:
    def __init__(self, net):
        self.net = net.cuda().eval()

    def enhance(self, image):
        return self.net(image)  # want (all): leak/eval-without-no-grad
