# after: facebookresearch/fairscale#1093
import copy
import torch

best = []
model = build().cuda()
for epoch in range(300):
    train_one(model)
    best.append(copy.deepcopy(model))  # want: peak/model-copy
