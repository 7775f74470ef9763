# after: KaiyangZhou/deep-person-reid#297
import os
import sys

import torch
import torchreid

use_gpu = torch.cuda.is_available()
print("devices:", torch.cuda.device_count() if use_gpu else 0)

os.environ["CUDA_VISIBLE_DEVICES"] = "3,4"  # want: conf/ignored-variable

datamanager = torchreid.data.ImageDataManager(root="reid-data", sources="market1501", height=256, width=128)
model = torchreid.models.build_model("osnet_x1_0", datamanager.num_train_pids)
model = torch.nn.DataParallel(model).cuda() if use_gpu else model  # want: dist/data-parallel
optimizer = torchreid.optim.build_optimizer(model, optim="adam", lr=0.0003)
engine = torchreid.engine.ImageSoftmaxEngine(datamanager, model, optimizer)
engine.run(max_epoch=60, save_dir="log/osnet", print_freq=10)
