# after: MRFI#5
import torch


def campaign(model, faults, x):
    results = []
    for fault in faults:
        def inject(module, inputs, output):
            return output + fault

        model.layer1.register_forward_hook(inject)  # want: leak/hook-cache
        with torch.no_grad():
            results.append(model(x).argmax(1).tolist())
    return results
