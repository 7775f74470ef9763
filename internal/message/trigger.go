package message

import "slices"

// words are what a line of interest contains, in any case of letters. A message
// may be wrapped anywhere, so several words stand for each.
var words = []string{
	"of memory", "OfMemory", "of_memory", "to allocate", "total cap", "y PyTorch", "memory in use",
	"max_split_size", "expandable_seg", "ALLOC_CONF", "allowed memory", "according to CUDA",
	"alloc_failed", "not_initialized", "not_supported", "internal_error", "nsufficient_res", "INSUFFICIENT_R",
	"NVML_SUCCESS", "CUDA calloc", "Cuda failure", "xhausted", "llocation failed", "ailed to alloc", "unable to alloc",
	"Killed", "oom_kill", "oom-kill", "oomkill", "SIGKILL", "exitcode", "exit code", "exit status", "code 137", "bus error",
	"loader worker", "available memory", "Free memory on", "in KV cache", "KV cache mem", "KV cache is", "NCCL WARN", "Signals.",
	"memory summary", "NVIDIA-SMI", "NVSMI LOG", "memory.used", "used_gpu_memory", "used_memory",
	"allocated_bytes", "reserved_bytes", "shared memory", "bad_alloc", "MemoryError", "allocate memory", "enough memory",
	"low on memory", "memory pressure", "memory limit", "pinned", "OutOfResources", "out of resource", "Torch version", "torch==",
}

// wordLen is how much of every word the search compares; a longer window skips
// further. It is the length of the shortest word.
const wordLen = 6

// skipper finds the first of many words by looking at two bytes at a time and
// skipping ahead as far as no word allows a start (Wu and Manber's method). It reads
// about a third of the bytes.
type skipper struct {
	shift [1 << 16]uint8
	tails map[uint16][]string // by the last two bytes of the window
}

var wordSearch = newSkipper(words)

func newSkipper(list []string) *skipper {
	s := &skipper{tails: map[uint16][]string{}}
	for i := range s.shift {
		s.shift[i] = wordLen - 1
	}
	for _, w := range list {
		for end := 2; end <= wordLen; end++ {
			for _, pair := range cases(w[end-2], w[end-1]) {
				s.shift[pair] = min(s.shift[pair], uint8(wordLen-end))
				if end == wordLen {
					s.tails[pair] = append(s.tails[pair], w)
				}
			}
		}
	}
	return s
}

// cases returns the pair of bytes in all cases of letters, each once.
func cases(a, b byte) []uint16 {
	var list []uint16
	for _, x := range []byte{lower(a), upper(a)} {
		for _, y := range []byte{lower(b), upper(b)} {
			if pair := uint16(x)<<8 | uint16(y); !slices.Contains(list, pair) {
				list = append(list, pair)
			}
		}
	}
	return list
}

// find returns the start of the first word in b, or -1.
func (s *skipper) find(b []byte) int {
	i := wordLen - 1
	for i < len(b) {
		pair := uint16(b[i-1])<<8 | uint16(b[i])
		if n := s.shift[pair]; n > 0 {
			i += int(n)
			continue
		}
		start := i - wordLen + 1
		for _, w := range s.tails[pair] {
			if hasFold(b[start:], w) {
				return start
			}
		}
		i++
	}
	return -1
}

// hasFold reports whether b begins with w, in any case of ASCII letters.
func hasFold(b []byte, w string) bool {
	if len(b) < len(w) {
		return false
	}
	for i := range len(w) {
		if lower(b[i]) != lower(w[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c &^ 0x20
	}
	return c
}
