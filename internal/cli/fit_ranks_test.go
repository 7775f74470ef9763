package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const (
	rankTrace0 = "../../testdata/fit/fsdp2-rank0.jsonl.gz"
	rankTrace1 = "../../testdata/fit/fsdp2-rank1.jsonl.gz"
)

func TestFitReportsEveryRank(t *testing.T) {
	out := fitJSON(t, &outside{}, exitDone, "--trace", rankTrace0, "--trace", rankTrace1)
	if len(out.Ranks) != 2 {
		t.Fatalf("%d ranks", len(out.Ranks))
	}
	for i, want := range []int64{7119831040, 8082423808} { // what two H200 reserved
		r := out.Ranks[i]
		if r.Rank != i || r.World != 2 || r.Device != i || r.PeakReservedBytes != want || r.Backend != "nccl" || len(r.Communicators) != 1 || len(r.OtherDevices) != 0 {
			t.Errorf("rank %d: %+v", i, r)
		}
	}
	most := out.Ranks[1]
	if out.PeakReservedBytes != most.PeakReservedBytes || out.ProcessBytes != most.ProcessBytes || out.ContextBytes <= most.NCCLBytes {
		t.Errorf("above: reserved %d, process %d, context %d; of rank 1: %+v", out.PeakReservedBytes, out.ProcessBytes, out.ContextBytes, most)
	}
}

func TestFitRefusesRanks(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--ranks", "-1"}, "--ranks: -1 is not a number from 1"},
		{[]string{"--ranks", "70000"}, "--ranks: 70000"},
		{[]string{"--rank", "all"}, "--rank all needs the number of ranks"},
		{[]string{"--ranks", "8", "--rank", "8"}, "there is no rank 8 of 8"},
		{[]string{"--ranks", "8", "--rank", "first"}, `"first" is no rank`},
		{[]string{"--ranks", "8", "--rank", "3-1"}, `"3-1" is no rank`},
		{[]string{"--ranks", "8", "--rank", "1-x"}, `"1-x" is no rank`},
	} {
		var o outside
		if code := o.run(t, append([]string{"fit"}, append(tt.args, "--", "python", "x.py")...)...); code != exitUsage || !strings.Contains(o.stderr.String(), tt.want) {
			t.Errorf("%v: exit code %d: %s", tt.args, code, &o.stderr)
		}
	}
}

func TestRanksThatAreStarted(t *testing.T) {
	for _, tt := range []struct {
		ranks int
		rank  string
		want  []int
	}{
		{0, "", []int{-1}}, {0, "3", []int{-1}}, {1, "", []int{0}}, {8, "", []int{0, 7}}, {8, "5,0-2,1", []int{0, 1, 2, 5}}, {3, "all", []int{0, 1, 2}},
	} {
		r := &fitter{f: &fitFlags{ranks: tt.ranks, rank: tt.rank}}
		if err := r.parseRanks(); err != nil {
			t.Fatal(err)
		}
		if got := r.starts(); !slices.Equal(got, tt.want) {
			t.Errorf("--ranks %d --rank %q starts %v, want %v", tt.ranks, tt.rank, got, tt.want)
		}
	}
}

func TestEnvironmentOfARank(t *testing.T) {
	for _, tt := range []struct {
		rank, ranks int
		want        string
	}{
		{0, 4, "RANK=0 LOCAL_RANK=0 GROUP_RANK=0 LOCAL_WORLD_SIZE=4 WORLD_SIZE=4"},
		{11, 16, "RANK=11 LOCAL_RANK=3 GROUP_RANK=1 LOCAL_WORLD_SIZE=8 WORLD_SIZE=16"},
		{11, 12, "RANK=11 LOCAL_RANK=11 GROUP_RANK=0 LOCAL_WORLD_SIZE=12 WORLD_SIZE=12"},
	} {
		env := rankEnviron([]string{"HOME=/x", "RANK=99"}, tt.rank, tt.ranks)
		for _, want := range strings.Fields(tt.want) {
			if !slices.Contains(env, want) {
				t.Errorf("rank %d of %d: no %s in %v", tt.rank, tt.ranks, want, env)
			}
		}
		if slices.Contains(env, "RANK=99") {
			t.Errorf("rank %d of %d: the old RANK is there too: %v", tt.rank, tt.ranks, env)
		}
	}
	if env := rankEnviron([]string{"HOME=/x"}, -1, 0); !slices.Equal(env, []string{"HOME=/x"}) {
		t.Errorf("without ranks: %v", env)
	}
}

// rankScript stands in for a program that joins a job as the rank of its environment, and
// takes a MiB for each rank below and one more; with and without a process group.
const rankScript = `r=${RANK:-0}; n=$(((r + 1) * 1048576))
{
echo '{"e":"meta","version":1,"torch":"2.11.0","argv":["x.py"]}'
[ -z "$ALONE" ] && echo '{"e":"group","rank":'$r',"world":'$WORLD_SIZE',"backend":"nccl"}'
echo '{"e":"sig","id":0,"op":"aten.empty.memory_format","in":[],"args":{},"out":[]}'
echo '{"e":"op","sig":0,"p":"f","new":[[0,'$n','$((r % 8))']'$OTHER']}'
echo '{"e":"end","reason":"ended"}'
} >"$ULLAGE_FIT/trace-$$.jsonl"
`

func runRankScript(t *testing.T, script string, args ...string) (*outside, []string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script")
	}
	o := &outside{env: map[string]string{"XDG_CACHE_HOME": t.TempDir()}}
	out := fitJSON(t, o, exitDone, append(args, "--", "sh", "-c", script)...)
	var rows []string
	for _, r := range out.Ranks {
		rows = append(rows, fmt.Sprint(r.Rank, "/", r.World, " on ", r.Device, ": ", r.PeakRequestedBytes>>20, " MiB, also ", r.OtherDevices))
	}
	return o, rows
}

func TestFitStartsRanks(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  string
		args []string
		want []string
		warn string
	}{
		{"first and last", "", []string{"--ranks", "4"}, []string{"0/4 on 0: 1 MiB, also []", "3/4 on 3: 4 MiB, also []"}, ""},
		{"all", "", []string{"--ranks", "2", "--rank", "all"}, []string{"0/2 on 0: 1 MiB, also []", "1/2 on 1: 2 MiB, also []"}, ""},
		{"two machines", "", []string{"--ranks", "16", "--rank", "9"}, []string{"9/16 on 1: 10 MiB, also []"}, ""},
		{"another GPU too", "OTHER=',[1,5000]';", []string{"--ranks", "4", "--rank", "3"}, []string{"3/4 on 3: 4 MiB, also [{0 5000}]"}, ""},
		{"no process group", "ALONE=1;", []string{"--ranks", "4"}, []string{"0/1 on 0: 1 MiB, also []"}, "made no process group"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, rows := runRankScript(t, tt.set+rankScript, tt.args...)
			if !slices.Equal(rows, tt.want) || !strings.Contains(o.stderr.String(), tt.warn) {
				t.Errorf("got %q, want %q; %s", rows, tt.want, &o.stderr)
			}
		})
	}
}

func TestFitLeavesRanksToALauncher(t *testing.T) {
	_, rows := runRankScript(t, `touch "$ULLAGE_FIT/launched"; for RANK in 0 1 2; do WORLD_SIZE=3; `+rankScript+`mv "$ULLAGE_FIT/trace-$$.jsonl" "$ULLAGE_FIT/trace-$$$RANK.jsonl"; done`, "--ranks", "3")
	if want := []string{"0/3 on 0: 1 MiB, also []", "1/3 on 1: 2 MiB, also []", "2/3 on 2: 3 MiB, also []"}; !slices.Equal(rows, want) {
		t.Errorf("got %q", rows)
	}
}

// waitingScript stands in for stages that tell each other their shapes: each sends to the
// next at once, and to the one before it once it has heard from the one after it.
const waitingScript = `f="$ULLAGE_FIT"; rm -f "$f/missing-$RANK"
touch "$f/message-$RANK-$((RANK + 1))-0"
if [ $RANK -lt 3 ] && [ ! -e "$f/message-$((RANK + 1))-$RANK-0" ]; then echo "rank $RANK gets an object" >"$f/missing-$RANK"; exit 0; fi
[ -z "$SILENT" ] && touch "$f/message-$RANK-$((RANK - 1))-0"
` + rankScript

func TestFitRunsRanksAgainThatWaited(t *testing.T) {
	_, rows := runRankScript(t, waitingScript, "--ranks", "4", "--rank", "all")
	if len(rows) != 4 {
		t.Errorf("got %q", rows)
	}
	if runtime.GOOS == "windows" {
		return
	}
	o := outside{env: map[string]string{"XDG_CACHE_HOME": t.TempDir()}}
	if code := o.run(t, "fit", "--ranks", "4", "--rank", "all", "--", "sh", "-c", "SILENT=1;"+waitingScript); code != exitFailed || !strings.Contains(o.stderr.String(), "gets an object") {
		t.Errorf("exit code %d: %s", code, &o.stderr)
	}
}

func TestFitKeepsATraceOfEachRank(t *testing.T) {
	if got := outFile("", 3, 4); got != "" {
		t.Errorf("without --out: %q", got)
	}
	out := filepath.Join(t.TempDir(), "job.trace")
	runRankScript(t, rankScript, "--ranks", "8", "--out", out)
	for _, name := range []string{"job-rank0.trace", "job-rank7.trace"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(out), name)); err != nil {
			t.Error(err)
		}
	}
}
