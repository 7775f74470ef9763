# after: taozh2017/HiNet#11
import numpy as np
import torch

from code.GAN_model import Discriminator, SynModel_HiNet
from code.utils import Logger, model_task, prediction_syn_results


class LatentSynthModel:
    def __init__(self, opt):
        self.opt = opt
        self.generator = SynModel_HiNet().cuda()
        self.discriminator = Discriminator().cuda()
        self.optimizer_G = torch.optim.Adam(self.generator.parameters(), lr=opt.lr)
        self.logger = Logger(opt.save_path)

    def test(self, te_loader, ind_epoch):
        self.generator.load_state_dict(torch.load(self.opt.save_path + "/%d.pth" % ind_epoch))
        pred_eva_set = []
        for ii, inputs in enumerate(te_loader):
            x_in1, x_in2, x_out = model_task(inputs, self.opt.task_id)
            x_fusion = torch.cat([x_in1, x_in2], dim=1)
            if self.opt.use_gpu:
                x_fusion = x_fusion.cuda()
            pred_out, pred_out1, pred_out2 = self.generator(x_fusion)  # want: leak/eval-without-no-grad
            errors = prediction_syn_results(pred_out, x_out)
            pred_eva_set.append([errors["MSE"], errors["SSIM"], errors["PSNR"]])
        mean_values = np.array(pred_eva_set).mean(axis=0)
        self.logger.test(mean_values)
        return mean_values
