# eval() here holds the running statistics still; the model is trained all the same.
import torch
import torch.nn.functional as F


def finetune(model, loader, opt):
    model.eval()
    for x, y in loader:
        loss = F.cross_entropy(model(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()


def policy(model, env, opt):
    model.eval()
    rewards, logps = [], []
    for _ in range(200):
        dist = torch.distributions.Categorical(logits=model(env.observe()))
        action = dist.sample()
        logps.append(dist.log_prob(action))
        rewards.append(env.act(action))
    loss = -(torch.stack(logps) * sum(rewards)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()


def adapt(model, loader, loss_fn, train_step):
    model.eval()
    for x, y in loader:
        train_step(model, loss_fn(model(x.cuda()), y.cuda()))
