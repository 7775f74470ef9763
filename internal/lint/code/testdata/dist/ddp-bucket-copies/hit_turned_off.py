from torch.nn.parallel import DistributedDataParallel


class Engine:
    def wrap(self, net, rank):
        self.net = DistributedDataParallel(  # want (all): dist/ddp-bucket-copies
            net,
            device_ids=[rank],
            gradient_as_bucket_view=False,
        )
