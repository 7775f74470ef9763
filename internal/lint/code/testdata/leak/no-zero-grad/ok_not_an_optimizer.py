import torch


def rollout(env, policy, loss_fn, opt):
    for _ in range(100):
        obs, reward, done, info = env.step(policy(env.state))
        loss = loss_fn(obs, reward)
        opt.zero_grad()
        loss.backward()
        opt.step()
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 10)
    for _ in range(10):
        scheduler.step()


def closure_style(net, x, y):
    opt = torch.optim.LBFGS(net.parameters())

    def closure():
        opt.zero_grad()
        loss = net(x, y)
        loss.backward()
        return loss

    for _ in range(20):
        opt.step(closure)
