# after: msu-video-group/memfof#5
import sys

import cv2
import torch

from core.memfof import MEMFOF


def main(path):
    device = torch.device("cuda")
    model = MEMFOF.from_pretrained("egorchistov/optical-flow-MEMFOF").eval().to(device)
    cap = cv2.VideoCapture(path)
    frames, fmap_cache = [], [None] * 3
    while True:
        ok, frame = cap.read()
        if not ok:
            break
        frames.append(torch.from_numpy(frame).permute(2, 0, 1).float())
        if len(frames) < 3:
            continue
        batch = torch.stack(frames[-3:]).unsqueeze(0).to(device)
        output = model(batch, fmap_cache=fmap_cache)  # want: leak/eval-without-no-grad
        fmap_cache = output["fmap_cache"]
        forward_flow = output["flow"][-1][:, 1]
        cv2.imwrite(f"flow_{len(frames):05d}.png", forward_flow[0, 0].detach().cpu().numpy())


if __name__ == "__main__":
    main(sys.argv[1])
