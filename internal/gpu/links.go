package gpu

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Link is how close two GPUs are to each other. Each pair is there once; one of which
// nothing is told is missing.
type Link struct {
	A     string   `json:"a"` // UUID
	B     string   `json:"b"` // likewise
	Kind  LinkKind `json:"kind"`
	Lanes int      `json:"lanes,omitempty"` // NVLinks between them, directly or through switches; 0 for other kinds
}

// LinkKind is the way that data takes from one GPU to another.
type LinkKind string

// The kinds, from the closest to the farthest. All but the first are ways over PCIe.
const (
	LinkNVLink LinkKind = "nvlink"     // NVLinks, from one to the other or through switches
	LinkBoard  LinkKind = "same-board" // both are on one board
	LinkPIX    LinkKind = "pix"        // through one PCIe bridge
	LinkPXB    LinkKind = "pxb"        // through several PCIe bridges, and no host bridge
	LinkPHB    LinkKind = "phb"        // through a PCIe host bridge
	LinkNode   LinkKind = "node"       // through host bridges of one NUMA node
	LinkSys    LinkKind = "sys"        // from one NUMA node to another
)

// LinkKinds lists the kinds, the closest first.
func LinkKinds() []LinkKind {
	return []LinkKind{LinkNVLink, LinkBoard, LinkPIX, LinkPXB, LinkPHB, LinkNode, LinkSys}
}

// Link returns how close two devices are, in whichever order they are given; nil where that
// is not told.
func (r *Reading) Link(a, b string) *Link {
	i := slices.IndexFunc(r.Links, func(k Link) bool { return k.A == a && k.B == b || k.A == b && k.B == a })
	if i < 0 {
		return nil
	}
	return &r.Links[i]
}

// linksAge is how long an answer about links holds. What they are hardly changes; but an agent
// that starts with the machine may ask before the switches' fabric is up, and a bridge can fail.
const linksAge = 10 * time.Minute

// knownLinks keeps what a driver has told of its links. That takes hundreds of calls, or a
// program that has to be run, so it is asked for when the list of devices has changed, and
// every linksAge.
type knownLinks struct {
	mu    sync.Mutex
	of    string    // the list of devices that was asked about last
	at    time.Time // and when
	links []Link
	err   error // why links are not what the driver would tell now
}

// due tells whether it is time to ask.
func (k *knownLinks) due(r *Reading) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.of != deviceList(r.Devices) || r.Time.Sub(k.at) >= linksAge
}

// learn takes an answer, or why there is none.
func (k *knownLinks) learn(r *Reading, links []Link, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of, k.at, k.err = deviceList(r.Devices), r.Time, err
	if err == nil {
		k.links = links
	}
}

// tell puts the links into a reading that are known between its devices.
func (k *knownLinks) tell(r *Reading) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, link := range k.links {
		if r.Device(link.A) != nil && r.Device(link.B) != nil {
			r.Links = append(r.Links, link)
		}
	}
	if k.err != nil && len(r.Devices) > 1 {
		r.Notes = append(r.Notes, "how close the devices are to each other could not be read: "+k.err.Error())
	}
}

// deviceList is all of a list of devices that links hang on.
func deviceList(all []Device) string {
	var text strings.Builder
	for _, d := range all {
		fmt.Fprintf(&text, "%d %s %t\n", d.Index, d.UUID, d.MIG)
	}
	return text.String()
}

// checkLinks refuses links that cannot be.
func (r *Reading) checkLinks(devices map[string]bool) error {
	seen := make(map[[2]string]bool, len(r.Links))
	for i, k := range r.Links {
		pair := [2]string{min(k.A, k.B), max(k.A, k.B)}
		switch {
		case !devices[k.A] || !devices[k.B] || k.A == k.B:
			return fmt.Errorf("links[%d]: %.80q and %.80q are not two of the devices", i, k.A, k.B)
		case seen[pair]:
			return fmt.Errorf("links[%d]: the pair is there twice", i)
		case !slices.Contains(LinkKinds(), k.Kind):
			return fmt.Errorf("links[%d]: kind %.40q is none of %v", i, k.Kind, LinkKinds())
		case k.Lanes < 0 || k.Lanes > maxLanes || k.Lanes > 0 && k.Kind != LinkNVLink:
			return fmt.Errorf("links[%d]: %d NVLinks cannot be, with kind %s", i, k.Lanes, k.Kind)
		}
		seen[pair] = true
	}
	return nil
}

// maxLanes is more NVLinks than a GPU has.
const maxLanes = 256
