# near misses: autograd goes by the flag, the caller has it off, or nobody asks for the evaluation
import torch


def by_flag(model, loader, criterion, optimizer, train):
    for x, y in loader:
        with torch.set_grad_enabled(train):
            loss = criterion(model(x), y)
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def by_caller(model, loader, criterion, optimizer=None):
    for x, y in loader:
        loss = criterion(model(x), y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def never_asked(model, loader, criterion, optimizer, train=True):
    for x, y in loader:
        loss = criterion(model(x), y)
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def fit(model, train, valid, optimizer):
    criterion = torch.nn.CrossEntropyLoss()
    never_asked(model, train, criterion, optimizer)
    by_flag(model, train, criterion, optimizer, True)
    by_flag(model, valid, criterion, optimizer, False)
    with torch.no_grad():
        by_caller(model, valid, criterion)
