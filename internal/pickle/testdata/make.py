"""Writes python.txt: values as CPython pickles them in every protocol, with what they are.

A line is: name, protocol, pickle in hex, value as tree_test.go prints it.
"""
import json
import pickle


def show(v):
    if v is None or v is True or v is False:
        return str(v)
    if isinstance(v, int):
        return str(v) if -2**63 <= v < 2**64 else "huge" if v > 0 else "-huge"
    if isinstance(v, float):
        return "%.17g" % v
    if isinstance(v, str):
        return '"' + v.encode("utf-8", "surrogatepass").hex() + '"'
    if isinstance(v, (bytes, bytearray)):
        return "b" + v.hex()
    if isinstance(v, dict):
        return "{" + " ".join(show(k) + ":" + show(x) for k, x in v.items()) + "}"
    return "[" + " ".join(show(x) for x in v) + "]"


key = "key"
frames = [{"name": "f", "line": i} for i in range(3)]
stack = [frames[0], frames[2], frames[1]]
events = [{"action": "alloc", "addr": 1 << 40 | i, "pool": (0, 0), "frames": stack if i % 2 else list(stack)} for i in range(9)]
VALUES = {
    "constants": [None, True, False, (), [], {}],
    "integers": [0, 1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -1, -2**31, -2**31 - 1, 2**47, 2**60 - 1, 2**60, -2**60, -2**60 - 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -2**63, -2**63 - 1, 10**40, -10**40],
    "floats": [0.0, -0.5, 0.1, 1e300, float("inf"), float("-inf")],
    "strings": ["", "a", "naïve", "日本", "\U0001f40d", "\udc80", "x" * 300, "tab\tnl\nback\\quote'\""],
    "tuples": [(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ((), ((),))],
    "one": {"a": [{"b": ["c"]}]},
    "batches": [list(range(1001)), {i: None for i in range(1001)}, list(range(2000))],
    "shared": [key, {key: stack}, stack, [stack, stack]],
    "events": events,
    "memo": [[str(i) for i in range(300)], ["299", "0"], {str(i): str(299 - i) for i in range(300)}],
    "bytes": [b"", b"abc\xff", b"y" * 300],
    "sets": [{1}, frozenset([2]), bytearray(b"z")],
}
with open("python.txt", "w", newline="\n") as f:
    for name, v in VALUES.items():
        for protocol in range(6):
            if name == "batches" and protocol % 2 or name == "bytes" and protocol < 3 or name == "sets" and protocol < 5:
                continue  # the last two are made by calling something; batches are large and the same everywhere
            f.write(f"{name}\t{protocol}\t{pickle.dumps(v, protocol).hex()}\t{show(v)}\n")
