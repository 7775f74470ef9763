"""The part of Ullage that runs within a Python process.

`ullage run` puts this package on the path of the programs that it starts. It waits until the program itself uses CUDA, and from
then on keeps a bounded history of the allocator's events, which it writes to a file when memory runs out. It never imports
torch, never initialises CUDA, and never raises into the program. See docs/run.md.
"""
