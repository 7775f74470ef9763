"""Reduces a memory snapshot of PyTorch to the text described in README.md."""
import pickle
import sys

ACTIONS = {"alloc": "a", "free_requested": "r", "free_completed": "c", "segment_alloc": "g", "segment_free": "f",
           "segment_map": "m", "segment_unmap": "u", "oom": "o"}
STATES = {"inactive": 0, "active_allocated": 1, "active_pending_free": 2}


def main(path, *peaks):
    with open(path, "rb") as f:
        snapshot = pickle.load(f)
    conf = snapshot["allocator_settings"]
    print("C", conf["max_split_size"], int(conf["expandable_segments"]), *conf["roundup_power2_divisions"].values())
    if peaks:
        print("P", *peaks)
    streams = {}
    for device, events in enumerate(snapshot["device_traces"]):
        segments = [s for s in snapshot["segments"] if s["device"] == device]
        if not events and not segments:
            continue
        print("D", device)
        for e in events:
            if e["action"] in ACTIONS:
                print(ACTIONS[e["action"]], e.get("addr", 0), e["size"], streams.setdefault(e["stream"], len(streams)))
        for s in segments:
            print("S", s["address"], s["total_size"], streams.setdefault(s["stream"], len(streams)),
                  int(s["segment_type"] == "small"), int(s["is_expandable"]), *s["segment_pool_id"])
            for b in s["blocks"]:
                print("B", b["address"], b["size"], b["requested_size"], STATES[b["state"]])


main(*sys.argv[1:])
