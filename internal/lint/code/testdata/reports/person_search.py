# after: serend1p1ty/SeqNet#14
import argparse
from glob import glob

import torch
from PIL import Image
from torchvision.transforms import functional as F

from configs import get_cfg
from models.seqnet import SeqNet


def main(args):
    cfg = get_cfg()
    cfg.merge_from_file(args.cfg_file)
    device = torch.device(cfg.DEVICE)
    model = SeqNet(cfg)
    model.load_state_dict(torch.load(args.ckpt)["model"])
    model.to(device)
    model.eval()
    query = F.to_tensor(Image.open("demo_imgs/query.jpg").convert("RGB")).to(device)
    query_feat = model([query], [{"boxes": torch.tensor([[0, 0, 466, 943]]).to(device)}])[0]
    for path in sorted(glob("demo_imgs/gallery-*.jpg")):
        gallery = [F.to_tensor(Image.open(path).convert("RGB")).to(device)]
        out = model(gallery)[0]  # want: leak/eval-without-no-grad
        print(path, out["embeddings"].mm(query_feat.view(-1, 1)).max().item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cfg", dest="cfg_file", required=True)
    parser.add_argument("--ckpt", required=True)
    main(parser.parse_args())
