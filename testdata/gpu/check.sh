#!/usr/bin/env bash
# Runs all that is held against a GPU, one after the other, and keeps what it printed.
# Usage: testdata/gpu/check.sh [FOLDER]     from the root of the tree, with bin/ullage built; half an hour on one H200,
# 2 more with two of them. Ends with 1 if a part did not come out as it should.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=${1:-gpu-check}
mkdir -p "$out"
export PYTHONPATH=python/src PYTHONUNBUFFERED=1
failed=0

part() { # NAME COMMAND...
  local name=$1
  shift
  "$@" >"$out/$name.txt" 2>"$out/$name.err"
  local code=$?
  printf '%-16s exit %d, %s\n' "$name" "$code" "$out/$name.txt"
  ((code == 0)) || failed=1
}

gpu=testdata/gpu
part run python3 $gpu/run_check.py bin/ullage
part overhead bin/ullage run --out "$out/overhead" -- python3 $gpu/overhead_check.py 12
part holders python3 $gpu/holders_check.py bin/ullage
part python python3 $gpu/python_check.py
part batch python3 $gpu/batch_check.py
part pool python3 $gpu/pool_check.py
part remedies python3 $gpu/remedies_check.py measure
part fit python3 $gpu/fit_check.py measure 85
part claims python3 $gpu/claims_check.py all
part lint python3 $gpu/lint_check.py
if (($(nvidia-smi -L | wc -l) > 1)); then
  part ranks python3 $gpu/ranks_check.py all "$out/ranks.jsonl" 2
fi
exit $failed
