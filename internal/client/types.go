// Package client is the agent's API as a program sees it: the types that travel over the
// agent's socket, and a client that speaks them. docs/api.md describes the same in prose,
// docs/openapi.json for machines.
//
// Amounts are bytes, spans and times that are asked for are milliseconds, and times that
// are told are RFC 3339 in UTC. Readers ignore fields that they do not know.
package client

import (
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// Request asks for a lease: POST /v1/leases. Who asks is not in it: the agent reads that
// from the socket.
type Request struct {
	MemoryBytes int64  `json:"memory_bytes"`         // on each device, 64 MiB at least; 0 only with exclusive: all of it
	Devices     int    `json:"devices,omitempty"`    // how many; 0 is 1
	Device      string `json:"device,omitempty"`     // UUID of a GPU or of a MIG instance
	Model       string `json:"model,omitempty"`      // part of a model's name, in either case
	Exclusive   bool   `json:"exclusive,omitempty"`  // nobody else on the device, besides what is there without a lease
	Priority    int    `json:"priority,omitempty"`   // a point is worth some minutes of waiting
	Queue       string `json:"queue,omitempty"`      // one that the agent's configuration names
	Project     string `json:"project,omitempty"`    // one that the user belongs to
	Name        string `json:"name,omitempty"`       // for people: the command, mostly
	Key         string `json:"key,omitempty"`        // the same key of the same user is the same request
	TTLMS       int64  `json:"ttl_ms,omitempty"`     // 0: for as long as its holder lives
	Detached    bool   `json:"detached,omitempty"`   // held by no process: until it is released or its time, which it must have, is over
	HolderPID   int    `json:"holder_pid,omitempty"` // a process of the same user that holds it; 0: the one that asks
	NoWait      bool   `json:"no_wait,omitempty"`    // refused where it cannot start now
}

// Lease is a request and what became of it. Times are absent until they come.
type Lease struct {
	ID           int64      `json:"id"`
	State        string     `json:"state"` // queued, granted, draining or ended
	User         string     `json:"user"`
	Group        string     `json:"group,omitempty"`
	Project      string     `json:"project,omitempty"`
	Name         string     `json:"name,omitempty"`
	Key          string     `json:"key,omitempty"`
	MemoryBytes  int64      `json:"memory_bytes"` // asked for, on each device
	DeviceCount  int        `json:"device_count"`
	Device       string     `json:"device,omitempty"`
	Model        string     `json:"model,omitempty"`
	Exclusive    bool       `json:"exclusive,omitempty"`
	Priority     int        `json:"priority,omitempty"`
	Queue        string     `json:"queue,omitempty"`
	Detached     bool       `json:"detached,omitempty"`
	HolderPID    int        `json:"holder_pid,omitempty"`
	Epoch        int64      `json:"epoch,omitempty"`         // grows with every grant of the machine
	Grade        string     `json:"grade"`                   // how firmly its limit is kept: hw, kernel, hook, server, self or watched
	Shares       []Share    `json:"shares"`                  // what it holds, or held
	ContextBytes int64      `json:"context_bytes,omitempty"` // that a process of it is expected to use besides its allocator
	Queued       time.Time  `json:"queued"`
	Granted      *time.Time `json:"granted,omitempty"`
	Expires      *time.Time `json:"expires,omitempty"`
	Draining     *time.Time `json:"draining,omitempty"`
	Ended        *time.Time `json:"ended,omitempty"`
	Cause        string     `json:"cause,omitempty"`    // why it drains or has ended
	EndedBy      string     `json:"ended_by,omitempty"` // whose doing that was: a user's, or "agent"
	Over         *Over      `json:"over,omitempty"`     // with the cause stopped: what it was stopped for
	Position     int        `json:"position,omitempty"` // in the queue, from 1
	Processes    []int      `json:"processes,omitempty"`
}

// Over is the use above its share that a lease was stopped for.
type Over struct {
	Device    string `json:"device"`
	UsedBytes int64  `json:"used_bytes"` // of the device, by its processes
}

// Share is a lease's part of one device, and what its processes use there.
type Share struct {
	Device    string `json:"device"`
	Bytes     int64  `json:"bytes"`
	UsedBytes *int64 `json:"used_bytes"` // null: the driver does not tell
}

// Reason is a thing that keeps a request from starting.
type Reason struct {
	Code  string     `json:"code"`
	Text  string     `json:"text"`
	Bytes int64      `json:"bytes,omitempty"` // what is missing
	Lease int64      `json:"lease,omitempty"` // who stands before it
	Until *time.Time `json:"until,omitempty"` // when it goes away, where that is known
}

// Leases answers GET /v1/leases.
type Leases struct {
	Leases []Lease `json:"leases"`
}

// Explanation answers GET /v1/leases/{id}/explain.
type Explanation struct {
	Lease   Lease    `json:"lease"`
	Reasons []Reason `json:"reasons"`
}

// Extension asks for more time: POST /v1/leases/{id}/extend.
type Extension struct {
	TTLMS int64 `json:"ttl_ms"` // from now
}

// Device is a device as leases see it.
type Device struct {
	Index          *int         `json:"index,omitempty"` // the driver's number of the GPU, or of the one that it is a part of
	UUID           string       `json:"uuid"`
	Model          string       `json:"model"`
	Parent         string       `json:"parent,omitempty"` // the GPU that a MIG instance is a part of
	CapacityBytes  int64        `json:"capacity_bytes"`   // what may be handed out
	GrantedBytes   int64        `json:"granted_bytes"`
	ForeignBytes   int64        `json:"foreign_bytes"` // of processes without a lease, and above one
	AvailableBytes int64        `json:"available_bytes"`
	Reserves       []Reserve    `json:"reserves,omitempty"`
	Absent         bool         `json:"absent,omitempty"`
	Unseen         bool         `json:"unseen,omitempty"` // not looked at since the agent began
	Cordoned       bool         `json:"cordoned,omitempty"`
	Split          bool         `json:"split,omitempty"`    // its MIG instances are leased in its stead
	Overfull       bool         `json:"overfull,omitempty"` // its capacity shrank, or a reserve grew, below what was granted
	Links          []DeviceLink `json:"links,omitempty"`    // how close it is to other GPUs; one that is not told is missing, and MIG instances have none
}

// DeviceLink is how close a device is to another.
type DeviceLink struct {
	Device string       `json:"device"`          // the other's UUID
	Kind   gpu.LinkKind `json:"kind"`            // nvlink, same-board, pix, pxb, phb, node or sys
	Lanes  int          `json:"lanes,omitempty"` // NVLinks between them; 0 for other kinds
}

// Reserve keeps a minimum of a device for one queue.
type Reserve struct {
	Queue string `json:"queue"`
	Bytes int64  `json:"bytes"`
}

// Devices answers GET /v1/devices.
type Devices struct {
	Devices []Device `json:"devices"`
}

// Drain empties a device: POST /v1/devices/{uuid}/drain.
type Drain struct {
	GraceMS int64 `json:"grace_ms"` // what the leases on it have left at most
}

// About answers GET /v1/agent.
type About struct {
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Boot    string    `json:"boot"` // the kernel's boot id
	Probe   string    `json:"probe"`
	Ready   bool      `json:"ready"`
	Problem string    `json:"problem,omitempty"` // why it is not ready
	You     You       `json:"you"`
}

// You is who the agent takes the client for.
type You struct {
	UID   int    `json:"uid"`
	User  string `json:"user"`
	Admin bool   `json:"admin"`
}

// State answers GET /v1/state: all that a monitor shows, as of one reading.
type State struct {
	Reading gpu.Reading `json:"reading"`
	Devices []Device    `json:"devices"`
	Leases  []Lease     `json:"leases"` // that live: queued too
	Jobs    []Job       `json:"jobs"`
}

// Job is a process that uses a GPU, joined with what it told of itself and with its lease.
type Job struct {
	PID       int         `json:"pid"` // as the machine sees it
	User      string      `json:"user"`
	Lease     int64       `json:"lease,omitempty"`
	Orphan    bool        `json:"orphan,omitempty"` // its lease is over, or nobody it belongs to lives
	Name      string      `json:"name,omitempty"`   // the job's
	Rank      *int        `json:"rank,omitempty"`
	LocalRank *int        `json:"local_rank,omitempty"`
	Step      *int64      `json:"step,omitempty"`
	Reported  *time.Time  `json:"reported,omitempty"` // when it last told of its allocator
	Devices   []JobDevice `json:"devices"`
}

// JobDevice is what a process holds on one device.
type JobDevice struct {
	Device    string     `json:"device"`
	UsedBytes *int64     `json:"used_bytes"`                       // by the driver; null: it does not tell
	Allocator *Allocator `json:"allocator,omitempty"`              // null: the process told nothing
	Outside   *int64     `json:"outside_bytes"`                    // used without reserved: context, libraries, other allocators
	Slope     *float64   `json:"slope_bytes_per_step,omitempty"`   // by which allocated memory grows at the same point of each step; null: no growth is proved
	PerMinute *float64   `json:"slope_bytes_per_minute,omitempty"` // the same by time, of a process that tells of no steps
	Stray     bool       `json:"stray,omitempty"`                  // a context and nothing else, of a rank whose device is another
}

// Allocator is PyTorch's caching allocator of one process on one device, as
// torch.cuda.memory_stats counts it: the pool "all", current values.
type Allocator struct {
	AllocatedBytes     int64 `json:"allocated_bytes"`
	ReservedBytes      int64 `json:"reserved_bytes"`
	ActiveBytes        int64 `json:"active_bytes"`
	InactiveSplitBytes int64 `json:"inactive_split_bytes"`
	RequestedBytes     int64 `json:"requested_bytes"`
	PeakAllocatedBytes int64 `json:"peak_allocated_bytes"`
	PeakReservedBytes  int64 `json:"peak_reserved_bytes"`
	OOMs               int64 `json:"ooms"`          // since the process began
	AllocRetries       int64 `json:"alloc_retries"` // likewise
	LimitBytes         int64 `json:"limit_bytes"`   // that the allocator keeps; 0: none
}

// Report is what a process tells of its allocator: POST /v1/report. Which process it is,
// the agent reads from the socket.
type Report struct {
	Job       string         `json:"job,omitempty"`
	Rank      *int           `json:"rank,omitempty"`
	LocalRank *int           `json:"local_rank,omitempty"`
	Step      *int64         `json:"step,omitempty"` // optimizer steps done
	Devices   []ReportDevice `json:"devices"`
}

// ReportDevice is one device of a report.
type ReportDevice struct {
	Device string `json:"device"` // UUID, with GPU- or MIG- before it or without
	Allocator
	AfterStep *StepSample `json:"after_step,omitempty"` // the latest since the last report; null: none was taken
}

// StepSample is what was allocated right after an optimizer step: within a step, memory goes
// up and down, and only like moments compare.
type StepSample struct {
	Step           int64 `json:"step"`
	AllocatedBytes int64 `json:"allocated_bytes"`
}

// Advice answers a report.
type Advice struct {
	PeriodMS int64   `json:"period_ms"` // until the next report
	Limits   []Limit `json:"limits"`    // for devices on which the process has a lease
}

// Limit is what a process's allocator may reserve on a device, so that its lease holds all
// that the job takes there.
type Limit struct {
	Device string `json:"device"`
	Bytes  int64  `json:"bytes"`
	Epoch  int64  `json:"epoch"` // of the lease; an older one than the last seen is out of date
}

// Usage answers GET /v1/usage.
type Usage struct {
	By       string     `json:"by"` // user, group or project
	Since    time.Time  `json:"since"`
	Until    time.Time  `json:"until"`
	Complete *time.Time `json:"complete_since,omitempty"` // what leases held that ended before is no longer kept; absent: all is
	Rows     []UsageRow `json:"usage"`
}

// UsageRow is what one of them held.
type UsageRow struct {
	Name       string  `json:"name"`
	Leases     int64   `json:"leases"`
	GiBHours   float64 `json:"gib_hours"`
	GiBSeconds float64 `json:"gib_seconds"`
}

// Error is the body of every answer that is no success.
type Error struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody says what went wrong.
type ErrorBody struct {
	Code    string `json:"code"` // invalid, unknown, forbidden, unready, busy, internal, or one of lease.Code
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Lease   int64  `json:"lease,omitempty"` // the lease that was refused
}
