# after: facebookarchive/loop#57
import numpy as np
from tqdm import tqdm


def evaluate(model, criterion, epoch, eval_losses, loader):
    total = 0
    progress = tqdm(loader, desc="Valid")
    model.eval()
    for txt, feat, spkr in progress:
        txt, feat, spkr = txt.cuda(), feat.cuda(), spkr.cuda()
        output, _ = model([txt, spkr], feat)  # want: leak/eval-without-no-grad
        loss = criterion(output, feat[0], feat[1])
        total += loss.item()
        progress.set_description("Valid (loss %.2f) epoch %d" % (loss.item(), epoch))
    eval_losses.append(total / len(loader))
    return np.mean(eval_losses)
