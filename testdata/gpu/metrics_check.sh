#!/usr/bin/env bash
# Scrapes an agent on a GPU, beside a job that leaks 4 MiB a step, one that runs out of its
# limit and dies of it, and one without a lease. One GPU, under 2 minutes, from the root of
# the tree with bin/ullage built:
#
#   OUT=/tmp/out testdata/gpu/metrics_check.sh
#
# The whole scrapes are in OUT then, and what they are about is printed.
set -uo pipefail
mkdir -p "$OUT"
tmp=$(mktemp -d)
export ULLAGE_SOCKET=$tmp/s.sock
bin/ullage agent --socket "$ULLAGE_SOCKET" --state "$tmp/st" --metrics 127.0.0.1:19400 2>"$OUT/agent.log" &
agent=$!
scrape() { curl -s 127.0.0.1:19400/metrics; }
sleep 3
scrape >"$OUT/scrape-0-idle.txt"
cat >"$tmp/leak.py" <<'END'
import torch, time
m = torch.nn.Linear(2048, 2048).cuda(); opt = torch.optim.SGD(m.parameters(), lr=0.01)
kept = []; begin = time.time()
while time.time() - begin < 50:
    opt.zero_grad(); m(torch.randn(64, 2048, device="cuda")).sum().backward(); opt.step()
    kept.append(torch.empty(1 << 20, device="cuda"))
    time.sleep(0.05)
torch.cuda.synchronize(); print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved())
END
cat >"$tmp/oom.py" <<'END'
import torch, time
a = torch.empty(1 << 28, device="cuda"); time.sleep(8)
x = [torch.empty(1 << 28, device="cuda") for _ in range(8)]
END
cat >"$tmp/free.py" <<'END'
import torch, time
a = torch.empty(1 << 29, device="cuda"); time.sleep(50)
END
bin/ullage run --lease 12GiB -- python3 "$tmp/leak.py" >"$OUT/jobs.log" 2>&1 &
leak=$!
python3 "$tmp/free.py" & free=$!
sleep 5
bin/ullage run --lease 4GiB -- python3 "$tmp/oom.py" >>"$OUT/jobs.log" 2>&1 &
oom=$!
sleep 6
scrape >"$OUT/scrape-1-busy.txt"
wait "$oom"; echo "oom job ended with $?" >>"$OUT/jobs.log"
sleep 2
scrape >"$OUT/scrape-2-after-oom.txt"
nvidia-smi --query-gpu=memory.total,memory.used,memory.reserved,memory.free --format=csv >"$OUT/smi.txt"
nvidia-smi --query-compute-apps=pid,used_memory --format=csv >>"$OUT/smi.txt"
sleep 15
scrape >"$OUT/scrape-3-leaking.txt"
wait "$leak" "$free"
sleep 3
scrape >"$OUT/scrape-4-end.txt"
for i in $(seq 30); do curl -s -o /dev/null -w '%{time_total}\n' 127.0.0.1:19400/metrics; done | sort -n | sed -n '15p;30p' >>"$OUT/smi.txt"
kill $agent; wait $agent
for part in idle busy after-oom leaking end; do
  echo "== $part"
  grep -h '^ullage_device_ooms\|^ullage_device_alloc\|^ullage_lease_memory\|^ullage_job_[am].*_bytes' "$OUT"/scrape-*-$part.txt | grep -v ' 0$' | sed 's/gpu_instance="",//; s/local_rank="",rank="",//'
done
echo "== nvidia-smi after-oom; the median and the longest of 30 scrapes, in seconds"
cat "$OUT/smi.txt"
