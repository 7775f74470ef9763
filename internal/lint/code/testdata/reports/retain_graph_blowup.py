# after: GBLin5566/toward-controlled-generation-of-text-pytorch#9
import torch

def step_generator(model, optimizer, corpus):
    for sentence in corpus:
        optimizer.zero_grad()
        recon, kl = model(sentence)
        loss = recon + kl
        loss.backward(retain_graph=True)  # want: leak/retain-graph
        optimizer.step()
