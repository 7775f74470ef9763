import tensorflow as tf
import torch

writer = tf.summary.create_file_writer("logs")
model = torch.nn.Linear(4, 4).cuda()
