# after: Tencent/FaceDetection-DSFD#11
import argparse
import os

import cv2
import numpy as np
import torch
from torch.autograd import Variable

from face_ssd import build_ssd

parser = argparse.ArgumentParser()
parser.add_argument("--trained_model", default="weights/WIDERFace_DSFD_RES152.pth")
parser.add_argument("--save_folder", default="eval_tools/")
parser.add_argument("--img_root", default="./data")
args = parser.parse_args()


def infer(net, img, transform, thresh, cuda, shrink):
    if shrink != 1:
        img = cv2.resize(img, None, None, fx=shrink, fy=shrink)
    x = torch.from_numpy(transform(img)[0]).permute(2, 0, 1)
    x = Variable(x.unsqueeze(0))
    if cuda:
        x = x.cuda()
    y = net(x)  # want: leak/eval-without-no-grad
    detections = y.data
    scale = torch.Tensor([img.shape[1] / shrink, img.shape[0] / shrink] * 2)
    det = []
    for i in range(detections.size(1)):
        j = 0
        while j < detections.size(2) and detections[0, i, j, 0] > thresh:
            pt = (detections[0, i, j, 1:] * scale).cpu().numpy()
            det.append([pt[0], pt[1], pt[2], pt[3], detections[0, i, j, 0].item()])
            j += 1
    return np.array(det) if det else np.array([[0.1, 0.1, 0.1, 0.1, 0.01]])


def main():
    net = build_ssd("test", 640, 2)
    net.load_state_dict(torch.load(args.trained_model, map_location="cpu"))
    net.cuda()
    net.eval()
    for name in sorted(os.listdir(args.img_root)):
        img = cv2.imread(os.path.join(args.img_root, name))
        boxes = [infer(net, img, lambda i: (i.astype(np.float32),), 0.05, True, s) for s in (0.5, 1, 2)]
        np.savetxt(os.path.join(args.save_folder, name + ".txt"), np.vstack(boxes))


if __name__ == "__main__":
    main()
