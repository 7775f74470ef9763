# after: PingoLH/FCHarDNet#8
import torch
import yaml

from models import get_model
from loader import get_loader
from loss import get_loss_function


def train(cfg):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    trainloader = get_loader(cfg["data"])
    model = get_model(cfg["model"], 19).to(device)
    model = torch.nn.DataParallel(model, device_ids=range(torch.cuda.device_count()))  # want: dist/data-parallel
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    loss_fn = get_loss_function(cfg)
    for images, labels, _ in trainloader:
        model.train()
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = loss_fn(input=outputs, target=labels)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    with open("config.yml") as f:
        train(yaml.safe_load(f))
