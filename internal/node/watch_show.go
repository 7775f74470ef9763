package node

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/enforce"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// show publishes what a round has found. After a reading that failed it is what was known
// before, with the problem.
func (l *loop) show(r *round) {
	next := *l.now()
	next.problem = r.problem
	if r.read {
		next.reading = r.reading
		next.readings++
		next.read = l.Clock.Now()
		next.watched = l.watchedOf(r)
		next.jobs = l.reports.join(l.jobsOf(r), l.Clock.Now(), l.settings.Load().ContextBytes)
	}
	l.publish(&next)
}

func (l *loop) watchedOf(r *round) map[lease.ID]watched {
	all := make(map[lease.ID]watched, len(r.leases))
	for i := range r.leases {
		held := &r.leases[i]
		grade := l.reports.grade(held.ID, r.enforced(held), l.Clock.Now(), l.settings.Load().ContextBytes)
		w := watched{grade: string(grade), used: map[string]int64{}}
		for _, id := range l.members.Of(int64(held.ID)) {
			w.processes = append(w.processes, id.PID)
		}
		for _, s := range held.Shares {
			if u, ok := r.use[s.Device]; ok && !u.untold[held.ID] {
				w.used[s.Device] = u.leases[held.ID]
			}
		}
		all[held.ID] = w
	}
	return all
}

// enforced are a lease's shares as enforcers see them, but for the processes: see reports.grade.
func (r *round) enforced(held *lease.Lease) []enforce.Share {
	all := make([]enforce.Share, len(held.Shares))
	for i, s := range held.Shares {
		all[i] = enforce.Share{Device: s.Device, Bytes: s.Bytes}
		if k := slices.IndexFunc(r.places, func(p place) bool { return p.UUID == s.Device }); k >= 0 {
			all[i].CapacityBytes, all[i].Divided = r.places[k].CapacityBytes, r.places[k].shared
		}
	}
	return all
}

// jobsOf are the processes of a reading, by PID.
func (l *loop) jobsOf(r *round) []client.Job {
	jobs := map[holder.ID]*client.Job{}
	for i := range r.places {
		for k := range r.places[i].procs {
			p := &r.places[i].procs[k]
			id := holder.ID{PID: p.PID, Start: p.StartTicks}
			if jobs[id] == nil {
				jobs[id] = l.jobOf(r, p)
			}
			jobs[id].Devices = append(jobs[id].Devices, client.JobDevice{Device: r.places[i].UUID, UsedBytes: p.UsedBytes})
		}
	}
	all := make([]client.Job, 0, len(jobs))
	for _, id := range slices.SortedFunc(maps.Keys(jobs), func(a, b holder.ID) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Start, b.Start)) }) {
		all = append(all, *jobs[id])
	}
	return all
}

func (l *loop) jobOf(r *round, p *gpu.Process) *client.Job {
	job := &client.Job{PID: p.PID, User: p.User}
	if leases := l.leasesOf(p); len(leases) > 0 {
		job.Lease = int64(leases[0])
	}
	job.Orphan = l.orphan(r, p, lease.ID(job.Lease))
	return job
}

// orphan tells whether a process holds memory for nobody: it was started under a lease that
// is over, or who holds its lease has ended or given it back.
func (l *loop) orphan(r *round, p *gpu.Process, of lease.ID) bool {
	if of == 0 {
		known, ok := l.members.Process(holder.ID{PID: p.PID, Start: p.StartTicks})
		return ok && known.Mark.Lease != 0
	}
	i := slices.IndexFunc(r.leases, func(held lease.Lease) bool { return held.ID == of })
	if i < 0 {
		return true
	}
	held := &r.leases[i]
	return held.State == lease.Draining || !held.Detached && l.gone(holderOf(&held.Request))
}
