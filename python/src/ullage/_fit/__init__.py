"""What `ullage fit` has in a process: it shows the program a GPU that is not there, and writes down the memory that the program
would take on it.

CUDA tensors are fake: they have shapes and types, and no values and no memory. `start` waits for torch, `begin` puts everything in
place, `mode` sees every operator, `storages` every birth and death, `trace` writes. The format is docs/formats/trace.md.
"""
