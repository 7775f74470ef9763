package doctor

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ullage-dev/ullage/internal/units"
)

// limitsFile tells the limits of this process, which are those of what the same shell starts.
const limitsFile = "/proc/self/limits"

// limitLine is a line of it: "Max locked memory         8388608    8388608    bytes".
var limitLine = regexp.MustCompile(`^(Max .*?) {2,}(\S+) +(\S+)`)

// ulimit returns a limit of this process, and whether there is one.
func (f *Facts) ulimit(name string) (n int64, limited bool) {
	for line := range strings.Lines(f.Files[limitsFile].Text) {
		if m := limitLine.FindStringSubmatch(line); m != nil && m[1] == name && m[2] != "unlimited" {
			return limitNumber(m[2]), true
		}
	}
	return 0, false
}

// Limits that are too small for what programs on GPUs do.
const (
	addressID    = "host/address-space"
	fewFiles     = 4096
	littleLocked = units.GiB
)

// ulimits judges the limits of the shell.
func ulimits(f *Facts) []Check {
	if !f.linux() {
		return nil
	}
	if f.text(limitsFile) == "" {
		return []Check{unknown("host/limits", "/proc/self/limits cannot be read, so the limits of this shell are not known")}
	}
	var checks []Check
	if n, limited := f.ulimit("Max address space"); limited {
		c := found(addressID, Warning, fmt.Sprintf("address space is limited to %s (ulimit -v)", units.FormatBytes(n)),
			"CUDA and PyTorch set addresses aside for memory that they do not use, many times what they do: programs run out of memory while there is some. On an H200 CUDA did not start under 7.6 GiB, and expandable segments failed under 19 GiB.",
			"ulimit -v unlimited")
		if f.Python.CUDA != nil && strings.Contains(f.Python.CUDA.Error, "out of memory") {
			c.State = Problem
		}
		checks = append(checks, c)
	}
	if n, limited := f.ulimit("Max open files"); limited && n < fewFiles {
		checks = append(checks, found("host/open-files", Note, fmt.Sprintf("%d files may be open at once (ulimit -n)", n),
			"Tensors that workers hand over take a file each ('Too many open files', 'received 0 items of ancdata').", "ulimit -n 65536, or torch.multiprocessing.set_sharing_strategy('file_system')"))
	}
	if n, limited := f.ulimit("Max locked memory"); limited && n < littleLocked && len(f.RDMA) > 0 {
		checks = append(checks, found("host/locked-memory", Warning, fmt.Sprintf("%s may be locked in main memory (ulimit -l)", units.FormatBytes(n)),
			"This machine has adapters for RDMA, with which NCCL connects machines. They need more ('ibv_reg_mr failed', 'Cannot allocate memory'). What CUDA itself pins does not count.", "ulimit -l unlimited; docker run --ulimit memlock=-1; LimitMEMLOCK=infinity of a service"))
	}
	if len(checks) == 0 {
		checks = append(checks, ok("host/limits", "the limits of this shell are wide enough"))
	}
	return checks
}
