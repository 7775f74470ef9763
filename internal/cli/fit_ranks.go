package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/report"
)

// gpusOfAMachine is how many ranks share a machine where --ranks does not divide otherwise:
// the usual number of GPUs of a server.
const gpusOfAMachine = 8

const maxFitRanks = 1 << 16

// parseRanks reads --ranks and --rank.
func (r *fitter) parseRanks() error {
	if r.f.ranks < 0 || r.f.ranks > maxFitRanks {
		return usageErrorf("--ranks: %d is not a number from 1 to %d", r.f.ranks, maxFitRanks)
	}
	if r.f.rank == "all" {
		if r.f.ranks == 0 {
			return withHint(usageErrorf("--rank all needs the number of ranks"), "add --ranks N")
		}
		for i := range r.f.ranks {
			r.rank = append(r.rank, i)
		}
		return nil
	}
	for _, part := range list(r.f.rank) {
		first, last, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(first)
		b := a
		if isRange && err == nil {
			b, err = strconv.Atoi(last)
		}
		if err != nil || a < 0 || b < a || b >= maxFitRanks {
			return usageErrorf("--rank: %q is no rank: expected all, or numbers as in 0,7 or 0-3", part)
		}
		if r.f.ranks > 0 && b >= r.f.ranks {
			return usageErrorf("--rank: there is no rank %d of %d: they are counted from 0", b, r.f.ranks)
		}
		for i := a; i <= b; i++ {
			r.rank = append(r.rank, i)
		}
	}
	slices.Sort(r.rank)
	r.rank = slices.Compact(r.rank)
	return nil
}

// starts are the ranks as which the program is started: those asked for, or the first and
// the last, between which the needs of most jobs lie. A program without --ranks is started
// once, and may start its ranks itself.
func (r *fitter) starts() []int {
	switch {
	case r.f.ranks == 0:
		return []int{-1}
	case len(r.rank) > 0:
		return r.rank
	case r.f.ranks == 1:
		return []int{0}
	}
	return []int{0, r.f.ranks - 1}
}

// localRanks is how many of the job's ranks share a machine.
func localRanks(ranks int) int {
	if ranks > gpusOfAMachine && ranks%gpusOfAMachine == 0 {
		return gpusOfAMachine
	}
	return max(ranks, 1)
}

// rankEnviron is what torchrun tells the rank of a job. Nothing for a rank below 0.
func rankEnviron(environ []string, rank, ranks int) []string {
	if rank < 0 {
		return environ
	}
	local := localRanks(ranks)
	set := func(name string, n int) { environ = child.WithEnv(environ, name+"="+strconv.Itoa(n)) }
	set("RANK", rank)
	set("WORLD_SIZE", ranks)
	set("LOCAL_RANK", rank%local)
	set("LOCAL_WORLD_SIZE", local)
	set("GROUP_RANK", rank/local)
	set("GROUP_WORLD_SIZE", ranks/local)
	set("ROLE_RANK", rank)
	set("ROLE_WORLD_SIZE", ranks)
	return child.WithEnv(environ, "ROLE_NAME=default", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500", "TORCHELASTIC_RUN_ID=none")
}

// runRanks runs the program once for each rank that is to be traced, one after the other:
// together they would need the memory and the time of all of them. A launcher (torchrun,
// torch.multiprocessing) starts those ranks itself. A rank that needs what another sends
// only later runs again, in the opposite order, for as long as that helps.
func (r *fitter) runRanks(ctx context.Context, session *child.TraceSession) (code int, err error) {
	ranks, sent := r.starts(), -1
	for len(ranks) > 0 && sent != session.Messages() {
		sent = session.Messages()
		for i, rank := range ranks {
			if code, err = r.start(ctx, session, rank); err != nil || code != 0 {
				return code, err
			}
			if i == 0 && (session.Launched() || len(session.Missing()) == 0 && !r.joined(ctx, session)) {
				return code, missingMessage(session)
			}
		}
		ranks = ranksThatMiss(session, ranks)
	}
	return code, missingMessage(session)
}

// ranksThatMiss returns those of ranks that another's message did not reach, backwards.
func ranksThatMiss(session *child.TraceSession, ranks []int) (again []int) {
	missing := session.Missing()
	for _, rank := range slices.Backward(ranks) {
		if _, ok := missing[rank]; ok {
			again = append(again, rank)
		}
	}
	return again
}

func missingMessage(session *child.TraceSession) error {
	for _, text := range session.Missing() {
		return errors.New(text)
	}
	return nil
}

// joined tells whether what has run so far is part of a job of ranks.
func (r *fitter) joined(ctx context.Context, session *child.TraceSession) bool {
	for _, name := range session.Traces() {
		if t, err := readTrace(ctx, name); err == nil && t.Ranks.Joined {
			return true
		}
	}
	if r.f.ranks > 1 {
		r.app.Warn("the program made no process group (torch.distributed.init_process_group): --ranks shows it as many GPUs, and makes no other difference to it")
	}
	return false
}

// tracedProcess is a trace and the file that it is in.
type tracedProcess struct {
	trace *fit.Trace
	file  string
}

// byRank returns the trace of each rank, or the one of a program without ranks: of several
// processes that one that asked for most memory.
func byRank(all []tracedProcess) []tracedProcess {
	joined := slices.ContainsFunc(all, func(p tracedProcess) bool { return p.trace.Ranks.Joined })
	best := map[int]tracedProcess{}
	for _, p := range all {
		rank := 0
		if joined {
			if !p.trace.Ranks.Joined {
				continue // a launcher, or a helper of a rank
			}
			rank = p.trace.Meta.Rank
		}
		if old, ok := best[rank]; !ok || mostHeld(p.trace) > mostHeld(old.trace) {
			best[rank] = p
		}
	}
	var out []tracedProcess
	for _, p := range best {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b tracedProcess) int { return a.trace.Meta.Rank - b.trace.Meta.Rank })
	return out
}

// mostHeld is the most that a process holds at once of any device, as requested.
func mostHeld(t *fit.Trace) int64 {
	if uses := t.DeviceUses(); len(uses) > 0 {
		return uses[0].PeakBytes
	}
	return 0
}

// outFile is where --out puts the trace of a rank: with its number where there are several.
func outFile(name string, rank, count int) string {
	if name == "" || count < 2 {
		return name
	}
	ext := filepath.Ext(name)
	return fmt.Sprintf("%s-rank%d%s", strings.TrimSuffix(name, ext), rank, ext)
}

// mostOf predicts every rank. What the report is about is the one that needs most.
func (r *fitter) mostOf(traces []*fit.Trace) (*report.Fitting, error) {
	var most *report.Fitting
	var ranks []report.FitRank
	for _, t := range traces {
		v, err := r.predict(t)
		if errors.Is(err, fit.ErrNoCUDA) && len(traces) > 1 {
			r.app.Warn("rank %d put nothing on the GPU", t.Meta.Rank)
			continue
		}
		if err != nil {
			return nil, err
		}
		ranks = append(ranks, report.FitRank{Trace: t, Prediction: v.Prediction})
		if most == nil || v.Prediction.ProcessBytes > most.Prediction.ProcessBytes {
			most = v
		}
	}
	if most == nil {
		return nil, inputError(fit.ErrNoCUDA)
	}
	most.Ranks = ranks
	return most, nil
}
