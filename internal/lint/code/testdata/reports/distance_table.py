# after: huggingface/transformers#2595
import torch


def distances(tokens, changed, layers, best_model):
    table = torch.zeros(tokens.size(1), layers + 1, tokens.size(0))
    for m in range(tokens.size(1)):
        states = best_model(tokens[:, m].unsqueeze(0))[3]
        for j in range(layers + 1):
            for row in range(tokens.size(0)):
                other = best_model(changed[:, row].unsqueeze(0))[3][j]
                table[m, j, row] = (states[j] - other).abs().sum() / 2  # want: leak/list-with-graph
    return table
