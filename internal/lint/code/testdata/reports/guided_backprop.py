# after: utkuozbulak/pytorch-cnn-visualizations#53
import torch
from torch.nn import ReLU

from misc_functions import get_example_params, save_gradient_images


class GuidedBackprop:
    def __init__(self, model):
        self.model = model
        self.gradients = None
        self.forward_relu_outputs = []
        self.model.eval()
        self.update_relus()

    def update_relus(self):
        def relu_forward_hook_function(module, ten_in, ten_out):
            self.forward_relu_outputs.append(ten_out)  # want: leak/hook-cache

        for pos, module in self.model.features._modules.items():
            if isinstance(module, ReLU):
                module.register_forward_hook(relu_forward_hook_function)

    def generate_gradients(self, image, target_class):
        output = self.model(image)
        self.model.zero_grad()
        one_hot = torch.zeros_like(output)
        one_hot[0][target_class] = 1
        output.backward(gradient=one_hot)
        return image.grad.data.cpu().numpy()[0]


if __name__ == "__main__":
    original, prep, target, name, pretrained = get_example_params(0)
    gbp = GuidedBackprop(pretrained.cuda())
    for k, frame in enumerate(prep):
        save_gradient_images(gbp.generate_gradients(frame.cuda().requires_grad_(), target), f"{name}_{k}")
