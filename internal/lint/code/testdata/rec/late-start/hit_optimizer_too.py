# after: torchtitan PR#3628
import torch

device = torch.device("cuda")
net = torch.nn.Linear(1000, 1000).to(device)
opt = torch.optim.AdamW(net.parameters())
torch.cuda.memory._record_memory_history(stacks="python", max_entries=1_000_000)  # want (all): rec/late-start
for _ in range(3):
    opt.zero_grad()
    loss = net(torch.randn(8, 1000, device=device)).sum()
    loss.backward()
    opt.step()
torch.cuda.memory._dump_snapshot("three.pickle")
