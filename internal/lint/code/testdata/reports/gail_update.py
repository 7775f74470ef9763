# after: Khrylx/PyTorch-RL#2
import torch
from torch import nn

from core.agent import Agent
from core.common import estimate_advantages
from core.ppo import ppo_step
from models import Discriminator, Policy, Value


def update_params(batch, nets, optims, expert, device):
    policy, value, discrim = nets
    states = torch.stack(batch.state).to(device)
    actions = torch.stack(batch.action).to(device)
    rewards = torch.tensor(batch.reward, device=device)
    masks = torch.tensor(batch.mask, device=device)
    with torch.no_grad():
        values = value(states)
        fixed_log_probs = policy.get_log_prob(states, actions)
    advantages, returns = estimate_advantages(rewards, masks, values)
    for _ in range(1):
        g_o = discrim(torch.cat([states, actions], 1))
        e_o = discrim(expert.to(device))
        optims[2].zero_grad()
        loss = nn.functional.binary_cross_entropy(g_o, torch.ones_like(g_o)) + nn.functional.binary_cross_entropy(e_o, torch.zeros_like(e_o))
        loss.backward()
        optims[2].step()
    ppo_step(policy, value, optims, states, actions, returns, advantages, fixed_log_probs)
    torch.cuda.empty_cache()  # want: frag/empty-cache-loop


def main_loop(env, nets, optims, expert, args, device):
    agent = Agent(env, nets[0], device, num_threads=args.num_threads)
    for i_iter in range(args.max_iter_num):
        batch, log = agent.collect_samples(args.min_batch_size)
        update_params(batch, nets, optims, expert, device)
        print(i_iter, log["avg_reward"])
