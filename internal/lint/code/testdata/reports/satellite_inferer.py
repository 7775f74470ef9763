# after: CosmiQ/solaris#414
import os

import numpy as np
import torch

from datagen import InferenceTiler
from model_io import get_model
from raster import stitch_images


class Inferer(object):
    """Object for training `solaris` models using PyTorch."""

    def __init__(self, config, custom_model_dict=None):
        self.config = config
        self.batch_size = self.config["batch_size"]
        self.output_dir = self.config["inference"]["output_dir"]
        self.model = get_model(self.config["model_name"], custom_model_dict)
        self.device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")

    def __call__(self, infer_df=None):
        with torch.no_grad():
            self.model.eval()
        self.model = self.model.to(self.device)
        tiler = InferenceTiler(self.config, width=512, height=512)
        for idx, im_path in enumerate(infer_df["image"]):
            inf_input, idx_refs, shape = tiler(im_path)
            subarr_preds = []
            for i in range(0, inf_input.shape[0], self.batch_size):
                batch = torch.from_numpy(inf_input[i : i + self.batch_size]).float().to(self.device)
                preds = self.model(batch)  # want: leak/eval-without-no-grad
                subarr_preds.append(preds.cpu().data.numpy())
            stitched = stitch_images(np.concatenate(subarr_preds), idx_refs, shape)
            np.save(os.path.join(self.output_dir, os.path.basename(im_path)), stitched)
