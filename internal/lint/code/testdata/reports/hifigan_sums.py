# after: pytorch#144181
import torch
from torch.cuda.amp import GradScaler, autocast

from losses import discriminator_loss, feature_loss, generator_loss, kl_loss
from mel import spec_to_mel, wave_to_mel


def train_and_evaluate(epoch, config, nets, optims, loader, device, writer):
    net_g, net_d = nets
    optim_g, optim_d = optims
    scaler = GradScaler(enabled=config.train.fp16_run)
    net_g.train()
    net_d.train()
    epoch_disc_sum = 0.0
    epoch_gen_sum = 0.0
    for batch_idx, info in enumerate(loader):
        phone, pitch, spec, wave = [t.to(device, non_blocking=True) for t in info]
        with autocast(enabled=config.train.fp16_run):
            y_hat, x_mask, z_mask, (z, z_p, m_p, logs_p, m_q, logs_q) = net_g(phone, pitch, spec)
            y_d_r, y_d_g, _, _ = net_d(wave, y_hat.detach())
            with autocast(enabled=False):
                loss_disc, _, _ = discriminator_loss(y_d_r, y_d_g)
        epoch_disc_sum += loss_disc  # want: leak/loss-with-graph
        optim_d.zero_grad()
        scaler.scale(loss_disc).backward()
        scaler.unscale_(optim_d)
        torch.nn.utils.clip_grad_norm_(net_d.parameters(), max_norm=1000.0)
        scaler.step(optim_d)

        with autocast(enabled=config.train.fp16_run):
            _, y_d_g, fmap_r, fmap_g = net_d(wave, y_hat)
            with autocast(enabled=False):
                loss_mel = torch.nn.functional.l1_loss(spec_to_mel(spec), wave_to_mel(y_hat)) * 45
                loss_gen_all = generator_loss(y_d_g) + feature_loss(fmap_r, fmap_g) + loss_mel + kl_loss(z_p, logs_q, m_p)
        epoch_gen_sum += loss_gen_all  # want: leak/loss-with-graph
        optim_g.zero_grad()
        scaler.scale(loss_gen_all).backward()
        scaler.step(optim_g)
        scaler.update()
    writer.add_scalar("loss/d", epoch_disc_sum / len(loader), epoch)
    writer.add_scalar("loss/g", epoch_gen_sum / len(loader), epoch)
