from torch.nn.parallel import DataParallel as DP


def wrap(encoder, decoder, gpus):
    encoder = DP(encoder, device_ids=gpus).cuda()  # want: dist/data-parallel
    decoder = DP(decoder, gpus).cuda()  # want: dist/data-parallel
    return encoder, decoder
