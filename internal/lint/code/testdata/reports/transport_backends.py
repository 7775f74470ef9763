# after: PythonOT/POT#516
import numpy as np
import tensorflow as tf
import torch


def augment(files):
    data = tf.data.TFRecordDataset(files).shuffle(4096).batch(64)  # want: third/jax-preallocation
    return data.map(lambda r: tf.io.parse_single_example(r, {"x": tf.io.FixedLenFeature([64], tf.float32)}))


def sinkhorn(a, b, cost, reg=0.1, rounds=200):
    kernel = torch.exp(-cost / reg)
    u = torch.ones_like(a)
    for _ in range(rounds):
        v = b / (kernel.t() @ u)
        u = a / (kernel @ v)
    return u[:, None] * kernel * v[None]


if __name__ == "__main__":
    for batch in augment(["train.tfrecord"]):
        x = torch.from_numpy(np.asarray(batch["x"])).cuda()
        cost = torch.cdist(x, x)
        a = torch.full((len(x),), 1 / len(x), device="cuda")
        print(sinkhorn(a, a, cost).sum().item())
