# after: MoonshotAI/Kimi-Audio#117
from functools import lru_cache
import torch
from torch.utils.data import Dataset

class LazyDataset(Dataset):
    def __init__(self, rows, tok):
        self.rows, self.tok = rows, tok

    def __len__(self):
        return len(self.rows)

    @lru_cache(maxsize=None)  # want: leak/cached-method
    def __getitem__(self, i):
        return {"ids": torch.tensor(self.tok(self.rows[i]))}
