# By its name alone the policy is a network.
import torch


def rollout(policy, env, steps):
    obs, state = env.reset(), policy.initial_state(1)
    for _ in range(steps):
        logits, state = policy(obs, state)  # want (all): leak/recurrent-state
        obs = env.step(logits.argmax(-1).item())
