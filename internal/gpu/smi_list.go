package gpu

import (
	"bufio"
	"fmt"
	"regexp"
	"strings"
)

// Lines of "nvidia-smi -L":
//
//	GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-…)
//	  MIG 1g.10gb     Device  0: (UUID: MIG-…)
var (
	listedGPU = regexp.MustCompile(`^GPU \d+: .*\(UUID: (GPU-[^)\s]+)\)\s*$`)
	listedMIG = regexp.MustCompile(`^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^)\s]+)\)\s*$`)
)

// nameInstances gives the MIG devices of a reading the UUIDs and profiles of the list. Both
// are in the order of their index. Where the numbers differ somebody changed the partition
// between the two calls, and none gets a name.
func nameInstances(r *Reading, list string) error {
	names := map[string][]Instance{}
	gpu := ""
	for lines := bufio.NewScanner(strings.NewReader(list)); lines.Scan(); {
		if m := listedGPU.FindStringSubmatch(lines.Text()); m != nil {
			gpu = m[1]
		} else if m := listedMIG.FindStringSubmatch(lines.Text()); m != nil {
			names[gpu] = append(names[gpu], Instance{Profile: m[1], UUID: m[2]})
		}
	}
	for _, d := range r.Devices {
		if got := len(names[d.UUID]); got != len(d.Instances) {
			return fmt.Errorf("GPU %d has %d of them in one list of nvidia-smi, and %d in the other", d.Index, len(d.Instances), got)
		}
	}
	for _, d := range r.Devices {
		for i := range d.Instances {
			d.Instances[i].Profile, d.Instances[i].UUID = names[d.UUID][i].Profile, names[d.UUID][i].UUID
		}
	}
	return nil
}
