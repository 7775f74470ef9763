# after: finetuner#328
import tensorflow as tf
import torch


def batches(files):
    ds = tf.data.TFRecordDataset(files).batch(32)  # want: third/jax-preallocation
    for raw in ds:
        yield torch.from_numpy(raw.numpy()).cuda()
