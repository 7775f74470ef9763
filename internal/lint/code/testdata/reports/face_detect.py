# after: dlunion/DBFace#46
import cv2
import numpy as np
import torch

import common
from model.DBFace import DBFace

HAS_CUDA = torch.cuda.is_available()


def detect(model, image, threshold=0.4):
    image = common.pad(image)
    image = ((image / 255.0 - [0.408, 0.447, 0.47]) / [0.289, 0.274, 0.278]).astype(np.float32)
    batch = torch.from_numpy(image.transpose(2, 0, 1))[None]
    if HAS_CUDA:
        batch = batch.cuda()
    hm, box, landmark = model(batch)  # want: leak/eval-without-no-grad
    return common.decode(hm, box, landmark, threshold)


def camera_demo():
    dbface = DBFace()
    dbface.eval()
    if HAS_CUDA:
        dbface.cuda()
    dbface.load("model/dbface.pth")
    cap = cv2.VideoCapture(0)
    ok, frame = cap.read()
    while ok:
        for obj in detect(dbface, frame):
            common.drawbbox(frame, obj)
        cv2.imshow("demo DBFace", frame)
        if cv2.waitKey(1) & 0xFF == ord("q"):
            break
        ok, frame = cap.read()


if __name__ == "__main__":
    camera_demo()
