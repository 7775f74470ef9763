# after: hkchengrex/XMem#151
import cv2
import numpy as np
import torch
from PIL import Image

from inference.inference_core import InferenceCore
from inference.interact.interactive_utils import image_to_torch, index_numpy_to_one_hot_torch, torch_prob_to_numpy_mask
from model.network import XMem

config = {"top_k": 30, "mem_every": 5, "enable_long_term": True, "max_mid_term_frames": 10}
device = "cuda" if torch.cuda.is_available() else "cpu"
network = XMem(config, "./saves/XMem.pth").eval().to(device)

mask = np.array(Image.open("first_frame.png"))
num_objects = len(np.unique(mask)) - 1
torch.cuda.empty_cache()
processor = InferenceCore(network, config=config)
processor.set_all_labels(range(1, num_objects + 1))
cap = cv2.VideoCapture("video.mp4")
frames_to_propagate = 200
current_frame_index = 0
with torch.cuda.amp.autocast(enabled=True):
    while cap.isOpened():
        _, frame = cap.read()
        if frame is None or current_frame_index > frames_to_propagate:
            break
        frame_torch, _ = image_to_torch(frame, device=device)
        if current_frame_index == 0:
            mask_torch = index_numpy_to_one_hot_torch(mask, num_objects + 1).to(device)
            prediction = processor.step(frame_torch, mask_torch[1:])
        else:
            prediction = processor.step(frame_torch)  # want: leak/eval-without-no-grad
        prediction = torch_prob_to_numpy_mask(prediction)
        current_frame_index += 1
