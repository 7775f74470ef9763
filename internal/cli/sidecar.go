package cli

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/message"
	"github.com/ullage-dev/ullage/snapshot"
)

// sidecar is the small file that `ullage run` leaves beside a recording, with what the
// recording itself does not tell. docs/run.md describes it. A nil sidecar is good for use:
// most recordings have none.
type sidecar struct {
	Ullage    int             `json:"ullage"` // version of the form; 1
	Recording string          `json:"recording"`
	Run       string          `json:"run"`
	Reason    string          `json:"reason"` // oom, budget, snap or end
	Number    int             `json:"number"` // of its process's recordings, from 1; 0 where it is not known
	PID       int             `json:"pid"`
	Rank      *int            `json:"rank"`
	Message   string          `json:"message"` // of the error; "" where it is not known
	Failed    *sidecarFailure `json:"failed"`
	Devices   []sidecarDevice `json:"devices"`
	Lease     *sidecarLease   `json:"lease"`
	Holders   *sidecarHolders `json:"holders"`
}

type sidecarFailure struct {
	Device     int   `json:"device"`
	TotalBytes int64 `json:"total_bytes"` // of the device, or a limit where there is one
}

type sidecarDevice struct {
	Device     int    `json:"device"`
	TotalBytes int64  `json:"total_bytes"`
	LimitBytes int64  `json:"limit_bytes"` // 0 where there is none, or it is not known
	LimitBy    string `json:"limit_by"`    // lease, run or program; "" where it is not known
}

// sidecarLease is the lease that the run was under.
type sidecarLease struct {
	MemoryBytes int64 `json:"memory_bytes"` // on each device
}

const (
	maxSidecar     = 16 << 20 // 2,000 holders and 20,000 addresses are less than 3 MiB
	recordingEnd   = ".pickle"
	sidecarEnd     = ".json"
	countersEnd    = "_counters.jsonl"
	sidecarVersion = 1
)

var errNoSidecar = errors.New("not written by ullage run")

// readSidecar returns what stands beside a recording, or nil. A file that is not what it
// should be is somebody else's: it tells nothing, and is no error.
func (a *App) readSidecar(recording string) *sidecar {
	name, ok := strings.CutSuffix(recording, recordingEnd)
	if !ok {
		return nil
	}
	f, err := a.Files.Open(name + sidecarEnd)
	if err != nil {
		return nil
	}
	defer f.Close()
	s, err := parseSidecar(f)
	if err != nil || s.Recording != base(recording) {
		return nil
	}
	return s
}

// parseSidecar reads a sidecar of a version that is known.
func parseSidecar(r io.Reader) (*sidecar, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSidecar))
	if err != nil {
		return nil, err
	}
	s := new(sidecar)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	if s.Ullage != sidecarVersion {
		return nil, errNoSidecar
	}
	return s, nil
}

// rankOr returns the rank that the sidecar tells where the file's name does not.
func (s *sidecar) rankOr(rank int) int {
	if s == nil || s.Rank == nil || rank >= 0 || *s.Rank < 0 {
		return rank
	}
	return *s.Rank
}

// joined adds to opt what the sidecar tells of a device. What the user said counts more.
func (s *sidecar) joined(opt analyze.Options, device int) analyze.Options {
	if s == nil {
		return opt
	}
	capacity, limit := s.device(device)
	if opt.CapacityBytes == 0 {
		opt.CapacityBytes = capacity
	}
	if limit > opt.LimitBytes {
		opt.LimitBytes, opt.LeaseBytes = limit, s.leaseBehind(device)
	}
	opt.OthersBytes = max(opt.OthersBytes, s.others(device))
	opt.Census = s.Holders.census(device)
	return opt
}

// device returns the size of a device and the limit of the process on it, 0 where not known.
// PyTorch tells its observer a limit, if there is one, in place of the device's size.
func (s *sidecar) device(device int) (capacity, limit int64) {
	for _, d := range s.Devices {
		if d.Device == device {
			capacity, limit = max(d.TotalBytes, 0), max(d.LimitBytes, 0)
		}
	}
	if f := s.Failed; f != nil && f.Device == device && f.TotalBytes > 0 && f.TotalBytes < capacity && limit == 0 {
		limit = f.TotalBytes
	}
	return capacity, limit
}

// leaseBehind returns the lease that the limit of a device is of, 0 where it is of none.
func (s *sidecar) leaseBehind(device int) int64 {
	for _, d := range s.Devices {
		if d.Device == device && d.LimitBy == "lease" && s.Lease != nil && s.Lease.MemoryBytes >= d.LimitBytes {
			return s.Lease.MemoryBytes
		}
	}
	return 0
}

// others returns what the message says that other processes held on a device.
func (s *sidecar) others(device int) int64 {
	rep, err := message.Parse(strings.NewReader(s.Message), message.Options{})
	if err != nil {
		return 0
	}
	var bytes int64
	for _, o := range analyze.Text(rep).OOMs {
		if o.Message.GPU < 0 || o.Message.GPU == device {
			bytes = max(bytes, o.Account.OthersBytes)
		}
	}
	return bytes
}

// dropBeside takes out of what was found in a folder the files that `ullage run` leaves beside
// recordings: they are no recordings, and no strangers that would have to be named.
func (a *App) dropBeside(dir string, found *snapshot.Found) {
	beside := map[string]bool{}
	for _, f := range found.Files {
		if a.readSidecar(filepath.Join(dir, filepath.FromSlash(f.Path))) != nil {
			beside[strings.TrimSuffix(f.Path, recordingEnd)+sidecarEnd] = true
		}
	}
	ours := func(path string) bool { return beside[path] || strings.HasSuffix(path, countersEnd) }
	found.Files = slices.DeleteFunc(found.Files, func(f snapshot.FileInfo) bool { return ours(f.Path) })
	found.Skipped = slices.DeleteFunc(found.Skipped, func(s snapshot.Skipped) bool { return ours(s.Path) })
}
