package tui

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/units"
)

// fakeAgent is an agent of a machine that does not exist.
type fakeAgent struct {
	probe gpu.Probe
	name  string              // of the probe
	user  bool                // the one who asks is no admin
	dress func(*client.State) // makes the state of a reading
	err   error               // of all that is asked
	lag   time.Duration       // of the reading it tells

	released  []int64
	explained []int64
}

func (f *fakeAgent) About(context.Context) (client.About, error) {
	return client.About{Version: "v1.2.3", Probe: f.name, Ready: true, You: client.You{UID: 1001, User: "alice", Admin: !f.user}}, f.err
}

func (f *fakeAgent) State(ctx context.Context) (client.State, error) {
	if f.err != nil {
		return client.State{}, f.err
	}
	r, err := f.probe.Read(ctx)
	r.Time = r.Time.Add(-f.lag)
	s := client.State{Reading: r}
	f.dress(&s)
	return s, err
}

func (f *fakeAgent) Explain(_ context.Context, id int64) (client.Explanation, error) {
	f.explained = append(f.explained, id)
	until := time.Date(2026, 11, 30, 13, 30, 0, 0, time.UTC)
	return client.Explanation{Reasons: []client.Reason{
		{Code: "memory", Text: "32.00 GiB more would have to be free on GPU 0, where leases 12 and 15 hold 94.00 GiB", Bytes: 32 * units.GiB},
		{Code: "exclusive", Text: "lease 13 has GPU 1 for itself", Lease: 13, Until: &until},
	}}, f.err
}

func (f *fakeAgent) GiveBack(_ context.Context, known *client.Lease) (client.Lease, error) {
	id := known.ID
	if f.err != nil {
		return client.Lease{}, f.err
	}
	f.released = append(f.released, id)
	if id == 16 {
		return client.Lease{ID: id, State: "ended"}, nil
	}
	return client.Lease{ID: id, State: "draining"}, nil
}

var errGone = errors.New("the agent at /run/ullage/agent.sock cannot be reached: connection refused")

func pointer[T any](v T) *T { return &v }

// use is what a process uses, as the reading tells.
func use(s *client.State, pid int) *int64 {
	for _, p := range s.Reading.Processes {
		if p.PID == pid {
			return p.UsedBytes
		}
	}
	return nil
}

const gib = units.GiB

// dressH200x2 puts leases and reports on the two H200 of the fake.
func dressH200x2(s *client.State) {
	now := s.Reading.Time
	ago := func(d time.Duration) *time.Time { return pointer(now.Add(-d)) }
	gpu0, gpu1 := s.Reading.Devices[0].UUID, s.Reading.Devices[1].UUID
	train, tune, serve := *use(s, 41207), *use(s, 52877), *use(s, 52011)
	s.Devices = []client.Device{
		{UUID: gpu0, Model: "NVIDIA H200", CapacityBytes: 139 * gib, GrantedBytes: 90 * gib, ForeignBytes: 12 * gib, AvailableBytes: 37 * gib, Reserves: []client.Reserve{{Queue: "inference", Bytes: 8 * gib}}},
		{UUID: gpu1, Model: "NVIDIA H200", CapacityBytes: 139 * gib, GrantedBytes: 104 * gib, AvailableBytes: 35 * gib, Cordoned: true},
	}
	s.Leases = []client.Lease{
		{ID: 12, State: "granted", User: "alice", Group: "ml", Project: "llama", Name: "python train.py --config llama-8b.yaml", MemoryBytes: 90 * gib, DeviceCount: 1, Grade: "self", HolderPID: 41200, Epoch: 7, Queued: *ago(3 * time.Hour), Granted: ago(2 * time.Hour), Expires: pointer(now.Add(90 * time.Minute)), Processes: []int{41207}, Shares: []client.Share{{Device: gpu0, Bytes: 90 * gib, UsedBytes: &train}}},
		{ID: 13, State: "granted", User: "carol", Queue: "inference", Priority: 5, Name: "vllm", MemoryBytes: 100 * gib, DeviceCount: 1, Exclusive: true, Grade: "watched", Detached: true, Queued: *ago(50 * time.Hour), Granted: ago(50 * time.Hour), Processes: []int{52011}, Shares: []client.Share{{Device: gpu1, Bytes: 100 * gib, UsedBytes: &serve}}},
		{ID: 15, State: "draining", User: "dave", Name: "python finetune.py", MemoryBytes: 4 * gib, DeviceCount: 1, Grade: "watched", Queued: *ago(time.Hour), Granted: ago(time.Hour), Draining: ago(20 * time.Second), Cause: "expired", Processes: []int{52877}, Shares: []client.Share{{Device: gpu1, Bytes: 4 * gib, UsedBytes: &tune}}},
		{ID: 16, State: "queued", User: "alice", Name: "python eval.py", MemoryBytes: 80 * gib, DeviceCount: 1, Position: 1, Queued: *ago(9 * time.Minute)},
		{ID: 17, State: "queued", User: "erin", Name: "torchrun --nproc-per-node 2 pretrain.py", MemoryBytes: 60 * gib, DeviceCount: 2, Model: "H200", Position: 2, Queued: *ago(4 * time.Minute)},
	}
	s.Jobs = []client.Job{
		{PID: 41207, User: "alice", Lease: 12, Name: "llama-8b", Rank: pointer(0), Step: pointer(int64(18204)), Reported: ago(2 * time.Second), Devices: []client.JobDevice{{Device: gpu0, UsedBytes: &train, Outside: pointer(int64(612 << 20)), Slope: pointer(1.5e6), Allocator: &client.Allocator{
			AllocatedBytes: 48 * gib, ReservedBytes: train - 612<<20, ActiveBytes: 48 * gib, InactiveSplitBytes: 5 * gib, RequestedBytes: 47 * gib, PeakAllocatedBytes: 74 * gib, PeakReservedBytes: 81 * gib, OOMs: 1, AllocRetries: 3, LimitBytes: 89 * gib,
		}}}},
		{PID: 41533, User: "bob", Devices: []client.JobDevice{{Device: gpu0, UsedBytes: use(s, 41533)}}},
		{PID: 52011, User: "carol", Lease: 13, Devices: []client.JobDevice{{Device: gpu1, UsedBytes: &serve}}},
		{PID: 52877, User: "dave", Lease: 15, Orphan: true, Devices: []client.JobDevice{{Device: gpu1, UsedBytes: &tune}}},
	}
}

// dressMIG leases two of the three MIG devices of the fake.
func dressMIG(s *client.State) {
	d := s.Reading.Devices[0]
	s.Devices = []client.Device{{UUID: d.UUID, Model: d.Name, Split: true}}
	for i, in := range d.Instances {
		s.Devices = append(s.Devices, client.Device{UUID: in.UUID, Model: d.Name, Parent: d.UUID, CapacityBytes: in.Memory.TotalBytes, AvailableBytes: in.Memory.TotalBytes})
		if i == 2 {
			s.Devices[3].ForeignBytes, s.Devices[3].AvailableBytes = 2*gib, in.Memory.TotalBytes-2*gib
			continue
		}
		used := in.Memory.UsedBytes
		s.Devices[i+1].GrantedBytes, s.Devices[i+1].AvailableBytes = in.Memory.TotalBytes, 0
		p := s.Reading.Processes[i]
		s.Leases = append(s.Leases, client.Lease{ID: int64(i + 1), State: "granted", User: p.User, Name: p.Command, Exclusive: true, DeviceCount: 1, Grade: "hw", Queued: s.Reading.Time, Granted: pointer(s.Reading.Time), Shares: []client.Share{{Device: in.UUID, Bytes: in.Memory.TotalBytes, UsedBytes: &used}}})
		s.Jobs = append(s.Jobs, client.Job{PID: p.PID, User: p.User, Lease: int64(i + 1), Devices: []client.JobDevice{{Device: in.UUID, UsedBytes: p.UsedBytes}}})
	}
}

// dressMany gives each of many processes a lease of its own, with a report.
func dressMany(s *client.State) {
	held := map[string]int64{}
	for i, p := range s.Reading.Processes {
		id := int64(i + 1)
		used := *p.UsedBytes
		held[p.DeviceUUID] += 4 * gib
		s.Leases = append(s.Leases, client.Lease{ID: id, State: "granted", User: p.User, Name: p.Command, MemoryBytes: 4 * gib, DeviceCount: 1, Grade: "self", Queued: s.Reading.Time.Add(-time.Hour), Granted: pointer(s.Reading.Time.Add(-time.Minute)), Processes: []int{p.PID}, Shares: []client.Share{{Device: p.DeviceUUID, Bytes: 4 * gib, UsedBytes: &used}}})
		s.Jobs = append(s.Jobs, client.Job{PID: p.PID, User: p.User, Lease: id, Name: "shards", Rank: pointer(i), Devices: []client.JobDevice{{Device: p.DeviceUUID, UsedBytes: &used, Allocator: &client.Allocator{AllocatedBytes: used / 2, ReservedBytes: used - 512<<20}}}})
	}
	for i, d := range s.Reading.Devices {
		s.Devices = append(s.Devices, client.Device{UUID: d.UUID, Model: d.Name, CapacityBytes: 79 * gib, GrantedBytes: held[d.UUID]})
		s.Leases = append(s.Leases, client.Lease{ID: int64(1000 + i), State: "queued", User: fmt.Sprintf("user%02d", i), Name: "waits", MemoryBytes: 70 * gib, DeviceCount: 1, Position: i + 1, Queued: s.Reading.Time.Add(-time.Minute)})
	}
}

// dressNames gives everything a name that is long, wide or both.
func dressNames(s *client.State) {
	dressH200x2(s)
	for i := range s.Reading.Processes {
		p := &s.Reading.Processes[i]
		p.User = []string{"Приветствующий", "山田太郎", "e\u0301lodie", "user-of-a-directory@example.org"}[i%4]
		p.Command = []string{"python 訓練する.py --設定 大きい.yaml", "python 🚀.py", "/opt/conda/envs/a-very-long-name/bin/python -m torch.distributed.run"}[i%3]
	}
	for i := range s.Leases {
		l := &s.Leases[i]
		l.User, l.Name, l.Project = "山田太郎", "訓練 "+l.Name, "プロジェクト"
	}
	s.Reading.Devices[0].Name = "NVIDIA 図形処理装置 H200 with a name that goes on and on"
}

// dresses are the agent's parts of fakes.
var dresses = map[string]func(*client.State){
	"h200x2": dressH200x2, "h100-mig": dressMIG, "h100x8": dressMany, "names": dressNames,
	"idle": func(s *client.State) {
		for _, d := range s.Reading.Devices {
			s.Devices = append(s.Devices, client.Device{UUID: d.UUID, Model: d.Name, CapacityBytes: 139 * gib, AvailableBytes: 139 * gib})
		}
	},
	"bare":  func(*client.State) {},
	"empty": func(s *client.State) { s.Reading.Devices, s.Reading.Processes = nil, nil },
}
