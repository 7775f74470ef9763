#!/usr/bin/env python3
"""Write one real recording in every form and layout that package snapshot reads.

usage: forms.py            (in this folder; needs nothing but Python 3.9 or newer)

The input is leak_eval_outputs.pickle.xz, as PyTorch 2.11 wrote it. The layouts of other versions are made from it key by key as
docs/formats/recording.md describes them; what the real file cannot give (host memory, annotations) is made up in the same shape.
"""
import base64
import copy
import io
import json
import lzma
import pickle
import struct


def write(name, data):
    with open(name + ".xz", "wb") as f:
        f.write(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


# Layouts by torch version.

NEWER_EVENT_KEYS = {"time_us": (2, 2), "compile_context": (2, 8), "user_metadata": (2, 10), "pool_id": (2, 12)}


def layout(data, version):
    """The recording as torch of that version would have written it."""
    d = copy.deepcopy(data)
    for trace in d["device_traces"]:
        for e in trace:
            for key, since in NEWER_EVENT_KEYS.items():
                if version < since:
                    e.pop(key, None)
    if version < (2, 1):
        d["segments"] = [segment_2_0(s) for s in d["segments"]]
    if version < (2, 5):
        del d["external_annotations"]
    if version < (2, 3):
        del d["allocator_settings"]
    elif version < (2, 10):
        d["allocator_settings"].pop("graph_capture_record_stream_reuse", None)
    return d


def segment_2_0(s):
    s = {k: v for k, v in s.items() if k not in ("is_expandable", "frames")}
    s["blocks"] = [block_2_0(b) for b in s["blocks"]]
    return s


def block_2_0(b):
    old = {"size": b["size"], "requested_size": b["requested_size"], "state": b["state"]}
    if b["state"] == "active_allocated":
        # newest first: the tenant, then one who used the same memory before
        old["history"] = [{"addr": b["address"], "real_size": b["requested_size"], "frames": b["frames"]},
                          {"addr": b["address"], "real_size": max(b["requested_size"] // 2, 1), "frames": []}]
    return old


def torch_2_4(data):
    """2.4 kept annotations as events of their own."""
    d = layout(data, (2, 4))
    trace = d["device_traces"][0]
    for at, stage in ((200, "END"), (100, "START")):
        trace.insert(at, {"action": "user_defined", "addr": 0, "size": 0, "stream": 0, "time_us": trace[at]["time_us"],
                          "frames": [{"name": stage, "filename": "Optimizer.step#AdamW.step", "line": 0}]})
    return d


def torch_2_13(data):
    """The newest keys, with some that nobody knows yet."""
    d = copy.deepcopy(data)
    trace = d["device_traces"][0]
    for i, e in enumerate(trace):
        e["pool_id"] = (0, 0) if i % 50 else (0, 1)
    trace[10]["forward_frames"] = ['  File "train.py", line 7, in forward\n', "    return self.head(x)\n"]
    trace[11]["internal_metadata"] = "prefix"
    trace.append({"action": "annotate", "addr": trace[0]["addr"], "size": 0, "stream": 0, "time_us": trace[-1]["time_us"],
                  "compile_context": "N/A", "user_metadata": "weights of the head", "pool_id": (0, 0)})
    trace.append({"action": "teleport", "addr": 1, "size": 2, "stream": 0, "time_us": trace[-1]["time_us"], "colour": "blue"})
    d["device_traces"].append([])
    d["external_annotations"] = [
        {"name": "Optimizer.step#AdamW.step", "stage": s, "device": 0, "time_us": trace[i]["time_us"]} for s, i in (("START", 50), ("END", 90))]
    d["trace_alloc_overflowed"] = [True, False]
    d["trace_alloc_max_entries"] = 1000
    d["host_segments"] = [{"device": 0, "address": 0x7F1000000000, "total_size": 4096, "allocated_size": 4096, "active_size": 4096, "requested_size": 4000,
                           "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                           "blocks": [{"address": 0x7F1000000000, "size": 4096, "requested_size": 4000, "state": "active_allocated", "frames": trace[0]["frames"]}]}]
    d["host_traces"] = [{"action": a, "addr": 0x7F1000000000, "size": 4096, "stream": 0, "time_us": trace[i]["time_us"], "frames": trace[0]["frames"]}
                        for i, a in enumerate(("segment_alloc", "alloc"))]
    d["weather"] = {"sky": ["grey", 1.5]}
    return dict(reversed(d.items()))  # host_traces first, segments last


# The pickler of torch::jit (torch/csrc/jit/serialization/pickler.cpp), which _memory_snapshot_pickled uses: protocol 2, strings memoised, containers
# without batches, a container that is shared memoised after it is complete, and every integer above 31 bits in eight bytes.

class CppPickler:
    def __init__(self, shared):
        self.out, self.memo, self.shared = io.BytesIO(), {}, shared

    def dump(self, value):
        self.out.write(b"\x80\x02")
        self.push(value)
        self.out.write(b".")
        return self.out.getvalue()

    def push(self, v):
        if isinstance(v, (str, list, dict)):
            key = v if isinstance(v, str) else id(v)
            if key in self.memo:
                n = self.memo[key]
                self.out.write(b"h" + bytes([n]) if n < 256 else b"j" + struct.pack("<I", n))
                return
            self.container(v)
            if isinstance(v, str) or id(v) in self.shared:
                n = self.memo[key] = len(self.memo)
                self.out.write(b"q" + bytes([n]) if n < 256 else b"r" + struct.pack("<I", n))
        elif v is None:
            self.out.write(b"N")
        elif isinstance(v, bool):
            self.out.write(b"\x88" if v else b"\x89")
        elif isinstance(v, int):
            self.integer(v)
        elif isinstance(v, float):
            self.out.write(b"G" + struct.pack(">d", v))
        elif isinstance(v, tuple):
            self.out.write(b"(")
            for x in v:
                self.push(x)
            self.out.write(b"t")

    def container(self, v):
        if isinstance(v, str):
            b = v.encode()
            self.out.write(b"X" + struct.pack("<I", len(b)) + b)
        elif isinstance(v, list):
            self.out.write(b"](")
            for x in v:
                self.push(x)
            self.out.write(b"e")
        else:
            self.out.write(b"}(")
            for k, x in v.items():
                self.push(k)
                self.push(x)
            self.out.write(b"u")

    def integer(self, v):
        if 0 <= v < 256:
            self.out.write(b"K" + bytes([v]))
        elif 0 <= v < 65536:
            self.out.write(b"M" + struct.pack("<H", v))
        elif -2**31 <= v < 2**31:
            self.out.write(b"J" + struct.pack("<i", v))
        else:
            self.out.write(b"\x8a\x08" + struct.pack("<q", v))


def shared_ids(value):
    """Ids of containers that more than one other holds."""
    seen, shared, todo = set(), set(), [value]
    while todo:
        v = todo.pop()
        if isinstance(v, (list, dict)):
            if id(v) in seen:
                shared.add(id(v))
                continue
            seen.add(id(v))
            todo.extend(v.values() if isinstance(v, dict) else v)
    return shared


# Pages of torch.cuda._memory_viz.

PAGE = """
<!DOCTYPE html>
<html>
<head>
</head>
<body>
<script type="module">
import {add_local_files} from "https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js"
const local_files = %s
add_local_files(local_files, %r)
</script>
</body>
"""


def page(data, title):
    raw = pickle.dumps(data, protocol=4)
    raw += b"\x00" * (3 - len(raw) % 3)
    files = [{"name": "snapshot.pickle", "base64": base64.b64encode(raw).decode()}]
    return (PAGE % (json.dumps(files), title)).encode()


def profile(data):
    """What profile_plot makes of a profile: no addresses of blocks, names for frames, a category."""
    def frames(e):
        return [{"filename": "none", "line": 0, "name": f["name"]} for f in e.get("frames", [])]
    trace = [{"action": e["action"], "addr": e["addr"], "size": e["size"], "stream": 0, "frames": frames(e),
              **({"category": "activation"} if e["action"] == "alloc" else {})}
             for e in data["device_traces"][0] if e["action"] in ("alloc", "free_requested", "free_completed")]
    live = {}
    for e in trace:
        if e["action"] == "alloc":
            live[e["addr"]] = e
        elif e["action"] == "free_completed":
            live.pop(e["addr"], None)
    first = min(e["addr"] for e in trace)
    blocks, last = [], first
    for addr in sorted(live):
        if last < addr:
            blocks.append({"size": addr - last, "state": "inactive"})
        blocks.append({"size": live[addr]["size"], "state": "active_allocated", "requested_size": live[addr]["size"], "frames": live[addr]["frames"]})
        last = addr + live[addr]["size"]
    return {"device_traces": [trace, []], "segments": [{"device": 0, "address": first, "total_size": last - first, "stream": 0, "blocks": blocks}]}


def drawing(data):
    """The page of torch 2.0's trace_plot: a drawing."""
    sizes = [e["size"] for e in data["device_traces"][0] if e["action"] == "alloc"]
    plot = {"actions": list(range(len(sizes))), "elements_size": sizes, "elements_info": [0] * len(sizes), "elements_category": None,
            "suffix_table": [[0, None]], "string_table": ["512.0B allocation"], "initially_allocated": [], "categories": None}
    return ("\n<!DOCTYPE html>\n<html>\n<head></head>\n<body>\n<script type=\"module\">\n"
            "import * as d3 from \"https://cdn.jsdelivr.net/npm/d3@7.7.0/+esm\";\n\nlet alloc_data = " + json.dumps(plot) +
            "\n\nfunction process_alloc_data(max_entries) {\n}\n</script>\n</body>\n</html>\n").encode()


def hex_addresses(value):
    if isinstance(value, dict):
        return {k: hex(v) if k in ("addr", "address") else hex_addresses(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [hex_addresses(v) for v in value]
    return value


def main():
    with lzma.open("leak_eval_outputs.pickle.xz") as f:
        data = pickle.load(f)
    for protocol in (2, 3, 4, 5):
        write(f"protocol-{protocol}.pickle", pickle.dumps(data, protocol=protocol))
    cpp = {k: data[k] for k in ("device_traces", "segments", "external_annotations", "allocator_settings")}
    write("cpp.pickle", CppPickler(shared_ids(cpp)).dump(cpp))
    write("segments.pickle", pickle.dumps(data["segments"], protocol=4))
    for version in ((2, 0), (2, 1), (2, 2), (2, 5)):
        write("torch-%d.%d.pickle" % version, pickle.dumps(layout(data, version), protocol=4))
    write("torch-2.4.pickle", pickle.dumps(torch_2_4(data), protocol=4))
    write("torch-2.13.pickle", pickle.dumps(torch_2_13(data), protocol=5))
    write("dump.json", json.dumps(data).encode())
    write("dump-2.13.json", json.dumps(torch_2_13(data)).encode())
    write("dump-hex.json", b"\xef\xbb\xbf" + json.dumps(hex_addresses(data), indent=2).encode())
    write("segments.json", json.dumps(data["segments"]).encode())
    write("trace_plot.html", page(data, "Active Memory Timeline"))
    write("segment_plot.html", page(data, "Allocator State History"))
    write("profile_plot.html", page(profile(data), "Active Memory Timeline"))
    write("drawing-2.0.html", drawing(data))


if __name__ == "__main__":
    main()
