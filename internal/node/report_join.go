package node

import (
	"maps"
	"slices"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/enforce"
	"github.com/ullage-dev/ullage/internal/holder"
	"github.com/ullage-dev/ullage/internal/lease"
)

// join adds to processes of a reading what they have told of themselves, and processes that
// the reading does not show although they told that they hold memory: in some containers the
// driver names none.
func (rs *reports) join(jobs []client.Job, now time.Time, contextBytes int64) []client.Job {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	shown := map[int]bool{}
	for i := range jobs {
		shown[jobs[i].PID] = true
		if t := rs.tellers[jobs[i].PID]; t != nil {
			t.describe(&jobs[i], now, contextBytes)
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(rs.tellers)) {
		t := rs.tellers[pid]
		holds := slices.ContainsFunc(slices.Collect(maps.Values(t.devices)), func(d *reported) bool { return d.now.ReservedBytes > 0 })
		if shown[pid] || !holds || !t.fresh(now) {
			continue
		}
		job := client.Job{PID: pid, User: t.user}
		if len(t.marked) > 0 {
			job.Lease = int64(t.marked[0])
		}
		t.describe(&job, now, contextBytes)
		jobs = append(jobs, job)
	}
	slices.SortStableFunc(jobs, func(a, b client.Job) int { return a.PID - b.PID })
	return jobs
}

// describe adds what the process has told: who it is stays true, its figures do not.
func (t *teller) describe(job *client.Job, now time.Time, contextBytes int64) {
	at := t.at
	job.Name, job.Rank, job.LocalRank, job.Step, job.Reported = t.job, t.rank, t.localRank, t.step, &at
	if !t.fresh(now) {
		return
	}
	for i := range job.Devices {
		t.describeDevice(&job.Devices[i], contextBytes)
	}
	for _, place := range slices.Sorted(maps.Keys(t.devices)) {
		there := slices.ContainsFunc(job.Devices, func(d client.JobDevice) bool { return d.Device == place })
		if !there && t.devices[place].now.ReservedBytes > 0 {
			job.Devices = append(job.Devices, client.JobDevice{Device: place})
			t.describeDevice(&job.Devices[len(job.Devices)-1], contextBytes)
		}
	}
}

func (t *teller) describeDevice(out *client.JobDevice, contextBytes int64) {
	out.Stray = stray(t, out.Device, out.UsedBytes, contextBytes)
	d := t.devices[out.Device]
	if d == nil {
		return
	}
	figures := d.now
	out.Allocator, out.Outside = &figures, d.outside
	if d.bySteps {
		out.Slope = d.trend.growth()
	} else {
		out.PerMinute = d.trend.growth()
	}
}

// grade is how firmly a lease is kept to its shares, whose members are filled in here.
func (rs *reports) grade(of lease.ID, shares []enforce.Share, now time.Time, contextBytes int64) enforce.Grade {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for i := range shares {
		shares[i].Members = rs.membersOn(of, shares[i].Device, now, contextBytes)
	}
	return enforce.Standard().Grade(shares)
}

// membersOn are the processes of a lease on a device, as far as limits go. One that has
// been silent for long may have undone its limit meanwhile.
func (rs *reports) membersOn(of lease.ID, place string, now time.Time, contextBytes int64) (members []enforce.Member) {
	reporting := map[holder.ID]bool{}
	for _, t := range rs.tellers {
		d := t.devices[place]
		if id, ok := rs.leaseOn(t, place); d == nil || !ok || id != of {
			continue
		}
		reporting[t.id] = true
		m := enforce.Member{PID: t.id.PID, OutsideBytes: contextBytes}
		if d.outside != nil {
			m.OutsideBytes = *d.outside
		}
		if limit := d.now.LimitBytes; limit > 0 && t.fresh(now) {
			m.LimitBytes = &limit
		}
		members = append(members, m)
	}
	for _, p := range rs.sight.on[place].who {
		if len(p.leases) > 0 && p.leases[0] == of && !reporting[p.id] {
			members = append(members, enforce.Member{PID: p.id.PID})
		}
	}
	return members
}
