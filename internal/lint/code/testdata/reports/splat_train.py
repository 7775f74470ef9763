# after: graphdeco-inria/gaussian-splatting#85
import torch
from tqdm import tqdm

from scene import Scene, GaussianModel
from renderer import render
from losses import l1_loss, ssim


def training(dataset, opt, pipe, first_iter=0):
    gaussians = GaussianModel(dataset.sh_degree)
    scene = Scene(dataset, gaussians)
    gaussians.training_setup(opt)
    background = torch.zeros(3, device="cuda")
    progress = tqdm(range(first_iter, opt.iterations))
    for iteration in range(first_iter + 1, opt.iterations + 1):
        gaussians.update_learning_rate(iteration)
        view = scene.next_camera()
        image = render(view, gaussians, pipe, background)["render"]
        loss = 0.8 * l1_loss(image, view.original_image.cuda()) + 0.2 * (1 - ssim(image, view.original_image.cuda()))
        loss.backward()
        with torch.no_grad():
            if iteration % 10 == 0:
                progress.set_postfix({"loss": f"{loss.item():.5f}"})
            gaussians.optimizer.step()
            gaussians.optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()  # want: frag/empty-cache-loop
