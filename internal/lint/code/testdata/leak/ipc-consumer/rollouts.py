import torch
import torch.multiprocessing as mp


class Actor(mp.Process):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.out = mp.SimpleQueue()

    def run(self):
        device = torch.device("cuda")
        self.net.to(device)
        while True:
            obs = torch.randn(32, 64, device=device)
            with torch.no_grad():
                act = self.net(obs)
            self.out.put({"obs": obs, "act": act.cpu()})  # want: leak/ipc-consumer
