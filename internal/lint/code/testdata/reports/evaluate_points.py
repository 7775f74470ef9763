# after: mit-han-lab/spvnas#108
import argparse

import torch
from tqdm import tqdm

from segmentation import MeanIoU, build_loader, build_model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("--name")
    args = parser.parse_args()
    model = build_model(args.name).cuda()
    model.eval()
    meter = MeanIoU(19)
    for feed in tqdm(build_loader(args.config, "test")):
        inputs = {k: v.cuda() for k, v in feed.items() if hasattr(v, "cuda")}
        outputs = model(inputs["lidar"])  # want: leak/eval-without-no-grad
        meter.update(outputs.argmax(1), inputs["targets"])
    print(meter.result())


if __name__ == "__main__":
    main()
