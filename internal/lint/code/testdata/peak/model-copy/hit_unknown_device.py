import copy


class Averaged:
    def __init__(self, model, decay):
        self.module = copy.deepcopy(model)  # want (all): peak/model-copy
        self.decay = decay
