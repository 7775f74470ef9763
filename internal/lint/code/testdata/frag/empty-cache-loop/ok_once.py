import torch


def load(model, path):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state)
    del state
    torch.cuda.empty_cache()
    return model
