"""What modules, optimizers and hooks hold."""
import collections
import gc
import types
import unittest

import torch
from holding import SIZE, Bag, Case, big, found
from torch import nn


class Modules(Case):
    def model(self):
        return nn.Sequential(collections.OrderedDict(
            body=nn.ModuleList([nn.Linear(100, 100, bias=False) for _ in range(3)]), head=nn.ModuleDict({"out": nn.Linear(100, 100)})))

    def test_parameters_go_by_their_module(self):
        net = self.model()
        net.register_buffer("table", big())
        params = list(net.parameters())
        places = {h.path: h.places for h in found(min_bytes=20000)}
        self.assertEqual(places, {"net.body[…].weight": 3, "net.head.out.weight": 1, "net.table": 1})
        del params

    def test_gradients_and_optimizer_state(self):
        net = self.model()
        optimizer = torch.optim.Adam(net.parameters())
        net.body[1](torch.ones(2, 100)).sum().backward()
        optimizer.step()
        holders = {h.path: h.kind for h in found(min_bytes=20000)}
        self.assertEqual(holders, {
            "net.body[…].weight": "python", "net.head.out.weight": "python", "net.body[1].weight.grad": "grad",
            "optimizer.state['exp_avg'] of net.body[1].weight": "optimizer",
            "optimizer.state['exp_avg_sq'] of net.body[1].weight": "optimizer"})

    def test_optimizer_alone(self):
        net = self.model()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        del net
        self.assertEqual([h.path for h in found(min_bytes=20000)], ["optimizer.param_groups[0]['params'][…]"])
        del optimizer

    def test_hooks(self):
        def hook_cache(module):
            cache = []
            module.register_forward_hook(lambda module, args, out: cache.append(big()))
            return hook_cache.__code__.co_firstlineno + 2

        net = self.model()
        line = hook_cache(net.body[2])
        recorder = Bag(seen=[big()])
        net.head.out.register_forward_pre_hook(types.MethodType(lambda self, module, args: None, recorder))
        net.body[2](torch.ones(1, 100))
        box = [net]
        del net, recorder
        texts = [str(h) for h in found() if len(h.storages) == 1 and h.size_bytes == 4 * SIZE]
        self.assertEqual(sorted(texts), [
            "Bag.seen[0] (object of the hook on box[0].head.out)",
            f"cache[0] (closure cell 'cache' of <lambda> at test_holders_modules.py:{line}, hook on box[0].body[2])"])
        del box

    def test_a_module_that_holds_itself(self):
        gc.disable()
        self.addCleanup(gc.enable)
        def make():
            net = nn.Linear(100, 100, bias=False)
            net.again = lambda: net

        make()
        holder, = found(min_bytes=20000)
        self.assertEqual(holder.kind, "cycle")
        self.assertRegex(str(holder), r"Linear\.weight \(garbage, in a cycle of .*1 Linear")


if __name__ == "__main__":
    unittest.main()
