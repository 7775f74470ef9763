# after: Quantinuum/lambeq#251
import torch


class PytorchTrainer:
    def __init__(self, model, loss_function, epochs, optimizer=torch.optim.AdamW, evaluate_functions=None, device=-1):
        self.model = model
        self.loss_function = loss_function
        self.epochs = epochs
        self.optimizer = optimizer(self.model.parameters())
        self.evaluate_functions = evaluate_functions or {}
        self.device = torch.device("cpu" if device < 0 else f"cuda:{device}")
        self.train_costs = []
        self.train_history = []

    def training_step(self, batch):
        x, y = batch
        y_hat = self.model(x)
        loss = self.loss_function(y_hat, y.to(self.device))
        self.train_costs.append(loss.item())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return y_hat, loss.item()

    def fit(self, train_dataset):
        for _ in range(self.epochs):
            for batch in train_dataset:
                y_hat, loss = self.training_step(batch)
                self.train_history.append((y_hat, batch[1]))  # want: leak/list-with-graph
            for name, func in self.evaluate_functions.items():
                print(name, [func(a, b) for a, b in self.train_history])
