# Nothing here shows that an instance is large.
import functools

import torch


class Version:
    def __init__(self, text):
        self.text = text

    @functools.lru_cache  # want (all): leak/cached-method
    def parts(self):
        return tuple(self.text.split("."))


print(Version(torch.__version__).parts())
