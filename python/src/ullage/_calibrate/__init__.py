"""Measures the GPU of this machine for `ullage fit --calibrate`: what a process, its libraries and its kernels take of it.

`run` starts a Python process for each part and writes what they say, a JSON object a line (docs/formats/profile.md, Measurements).
`driver` asks the driver; `context`, `kernels` and `nccl` are the parts.
"""
