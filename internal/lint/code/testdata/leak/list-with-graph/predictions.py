# after: SpareNet#12
import torch
from networks import Completion

net = Completion().cuda()
net.load_state_dict(torch.load("net.pth"))
net.eval()
results = []
for partial, name in test_loader:
    coarse, fine = net(partial.cuda())  # want: leak/eval-without-no-grad
    results.append(fine)  # want: leak/list-with-graph
torch.save(results, "results.pt")
