# after: sgrvinod/a-PyTorch-Tutorial-to-Image-Captioning#57
import time

from torch.nn.utils.rnn import pack_padded_sequence

from utils import AverageMeter, accuracy, device


def validate(val_loader, encoder, decoder, criterion):
    decoder.eval()
    if encoder is not None:
        encoder.eval()
    losses, top5 = AverageMeter(), AverageMeter()
    start = time.time()
    references, hypotheses = [], []
    for i, (imgs, caps, caplens, allcaps) in enumerate(val_loader):
        imgs, caps, caplens = imgs.to(device), caps.to(device), caplens.to(device)
        imgs = encoder(imgs)
        scores, caps_sorted, decode_lengths, alphas, sort_ind = decoder(imgs, caps, caplens)  # want: leak/eval-without-no-grad
        scores_copy = scores.clone()
        scores = pack_padded_sequence(scores, decode_lengths, batch_first=True).data
        targets = pack_padded_sequence(caps_sorted[:, 1:], decode_lengths, batch_first=True).data
        loss = criterion(scores, targets)
        losses.update(loss.item(), sum(decode_lengths))
        top5.update(accuracy(scores, targets, 5), sum(decode_lengths))
        hypotheses.extend(scores_copy.argmax(dim=2).tolist())
    print("loss", losses.avg, "top-5", top5.avg, "in", time.time() - start)
    return hypotheses
