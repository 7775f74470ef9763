package fit

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Profile is what is known of a GPU: docs/formats/profile.md. Sizes are bytes.
type Profile struct {
	Version         int     `json:"version,omitempty"` // of the format; 0 is 1
	Name            string  `json:"name"`              // as --gpu takes it
	Device          string  `json:"device"`            // as CUDA names it
	Origin          string  `json:"origin"`            // Measured or Published
	Source          string  `json:"source"`            // where the numbers are from
	TotalBytes      int64   `json:"total_bytes"`
	Major           int     `json:"major"`
	Minor           int     `json:"minor"`
	Multiprocessors int     `json:"multiprocessors"`
	MaxThreads      int     `json:"max_threads_per_multiprocessor"`
	Context         Context `json:"context"`

	Calibration *Calibration `json:"calibration,omitempty"` // nil of a card that was not calibrated
}

// Context is what a process takes of a card outside of the caching allocator, in bytes.
type Context struct {
	BaseBytes       int64       `json:"base_bytes"`        // CUDA itself and PyTorch's kernels
	CuBLASBytes     int64       `json:"cublas_bytes"`      // more once a thread uses it
	CuBLASMoreBytes int64       `json:"cublas_more_bytes"` // with each further thread that does
	CuDNNBytes      int64       `json:"cudnn_bytes"`
	SpreadBytes     int64       `json:"spread_bytes"` // how far the sum may be off, either way
	NCCL            NCCLContext `json:"nccl"`
}

// NCCLContext is what NCCL takes, in bytes. Between ranks it has rings for collectives, and
// for messages from one rank to another what these need.
type NCCLContext struct {
	LibraryBytes      int64 `json:"library_bytes"`      // once a process
	CommunicatorBytes int64 `json:"communicator_bytes"` // with each communicator
	RingsBytes        int64 `json:"rings_bytes"`        // with the first collective of each that has two ranks
	MessagesBytes     int64 `json:"messages_bytes"`     // with the first message of each
	SendBytes         int64 `json:"send_bytes"`         // of each that sends some
	ReceiveBytes      int64 `json:"receive_bytes"`      // of each that receives some
}

// Origins of a profile.
const (
	Measured  = "measured"
	Published = "published"
	Given     = "given" // in a file that does not say
)

// Bytes returns what the process takes with the libraries that it uses.
func (c Context) Bytes(used Libraries) int64 {
	n := c.BaseBytes
	if used.CuBLAS > 0 {
		n += c.CuBLASBytes + int64(used.CuBLAS-1)*c.CuBLASMoreBytes
	}
	if used.CuDNN {
		n += c.CuDNNBytes
	}
	return n + c.NCCL.Bytes(used.NCCL)
}

// Bytes returns what communicators take.
func (c *NCCLContext) Bytes(comms []Communicator) (bytes int64) {
	if len(comms) > 0 {
		bytes = c.LibraryBytes
	}
	for i := range comms {
		with := &comms[i]
		bytes += c.CommunicatorBytes
		if with.Ranks < 2 {
			continue
		}
		if with.Rings {
			bytes += c.RingsBytes
		}
		if with.Send || with.Receive {
			bytes += c.MessagesBytes
		}
		if with.Send {
			bytes += c.SendBytes
		}
		if with.Receive {
			bytes += c.ReceiveBytes
		}
	}
	return bytes
}

// RoomBytes returns what is left of the card for the caching allocator.
func (p *Profile) RoomBytes(used Libraries) int64 {
	return max(0, p.TotalBytes-p.Context.Bytes(used)-p.Context.SpreadBytes)
}

// MaxThreadsPerMultiprocessor is how many threads one multiprocessor holds.
func (p *Profile) MaxThreadsPerMultiprocessor() int {
	switch {
	case p.MaxThreads > 0:
		return p.MaxThreads
	case p.Major == 7 && p.Minor == 5:
		return 1024
	case p.Major == 8 && p.Minor != 0, p.Major == 12:
		return 1536
	}
	return 2048
}

//go:embed profiles.json
var profilesText []byte

// Profiles returns all cards that are known, the largest first.
var Profiles = sync.OnceValue(func() []*Profile {
	var list []*Profile
	if err := json.Unmarshal(profilesText, &list); err != nil {
		panic(err) // embedded: a test reads it
	}
	slices.SortStableFunc(list, func(a, b *Profile) int { return int((b.TotalBytes - a.TotalBytes) >> 20) })
	return list
})

// FindProfile returns the card of a name, in any case and with or without hyphens and
// blanks.
func FindProfile(name string) (*Profile, error) {
	want := plainName(name)
	var names []string
	for _, p := range Profiles() {
		if plainName(p.Name) == want || plainName(p.Device) == want {
			return p, nil
		}
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("no card is known by the name %q: expected a file, or one of %s", name, strings.Join(names, ", "))
}

// among returns the cards that ship with a card of the user's own, in the place of one that
// has its name.
func (p *Profile) among(list []*Profile) []*Profile {
	list = slices.Clone(list)
	i := slices.IndexFunc(list, func(other *Profile) bool { return other.Name == p.Name })
	switch {
	case i < 0:
		list = append(list, p)
	case p.Calibration != nil:
		list[i] = p
	}
	return list
}

func plainName(s string) string {
	s = strings.ToLower(s)
	for _, cut := range []string{"nvidia", "geforce", "tesla", "-", " ", "_"} {
		s = strings.ReplaceAll(s, cut, "")
	}
	return s
}
