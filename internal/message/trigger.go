package message

import (
	"math"
	"slices"
	"strings"
)

// words are what a line of interest contains, in any case of letters. A message
// may be wrapped anywhere, so several words stand for each.
var words = []string{
	"of memory", "OfMemory", "of_memory", "to allocate", "total cap", "by PyTorch", "memory in use",
	"max_split_size", "expandable_seg", "ALLOC_CONF", "allowed memory", "according to CUDA",
	"alloc_failed", "not_initialized", "error: CUDNN_STATUS", "ALLOCATION_FAILED", "insufficient_res", "SOLVER_STATUS_INTERNAL",
	"NVML_SUCCESS", "CUDA calloc", "CUDA malloc", "Cuda failure", "exhausted", "failed to alloc", "unable to alloc", "allocation failed",
	"Killed", "oom_kill", "oom-kill", "SIGKILL", "exitcode", "exit code:", "code 137", "status 137", "bus error",
	"loader worker", "available memory", "Free memory on", "in KV cache", "KV cache mem", "KV cache is", "NCCL WARN", "Signals.",
	"memory summary", "NVIDIA-SMI", "NVSMI LOG", "memory.used", "used_gpu_memory", "used_memory",
	"allocated_bytes", "reserved_bytes", "resource: shared", "shared memory(", "nt shared memory", "ing shared memory", "bad_alloc", "MemoryError",
	"allocate memory", "enough memory", "low on memory", "memory pressure", "job memory limit", "memory usage threshold",
	"pinned host", "pinned memory", "OutOfResources", "Torch version:", "torch==",
}

// wordLen is how much of every word the search compares; a longer window skips
// further. It is the length of the shortest word; a shorter one fails at the start of
// the program.
const wordLen = 6

// rarestWindow chooses which part of a word is compared: the one whose pairs of letters
// are the rarest in logs, since each common pair ends a skip.
func rarestWindow(w string) int {
	best, at := math.MaxInt, 0
	for i := 0; i+wordLen <= len(w); i++ {
		cost := 0
		for k := i; k < i+wordLen; k++ {
			cost += letterCost(lower(w[k]))
		}
		if cost <= best {
			best, at = cost, i
		}
	}
	return at
}

// letterCost is about how often a character stands in a log, in tenths of a percent.
func letterCost(c byte) int {
	const frequent = "etaoinsrlcdpmu .0123456789/_-:|=" // the most frequent first
	if i := strings.IndexByte(frequent, c); i >= 0 {
		return 70 - 2*i
	}
	return 5
}

// skipper finds the first of many words by looking at two bytes at a time and
// skipping ahead as far as no word allows a start (Wu and Manber's method). It reads
// about a third of the bytes.
type skipper struct {
	shift [1 << 16]uint8 // by the last two bytes of the window
	tails [1 << 16]uint8 // index in words of what may end there; 0 for none
	words [][]windowed
}

// windowed is a word and where in it the window lies.
type windowed struct {
	word string
	at   int
}

var wordSearch = newSkipper(words)

func newSkipper(list []string) *skipper {
	s := &skipper{words: make([][]windowed, 1)}
	for i := range s.shift {
		s.shift[i] = wordLen - 1
	}
	for _, w := range list {
		at := rarestWindow(w)
		for end := 2; end <= wordLen; end++ {
			for _, pair := range cases(w[at+end-2], w[at+end-1]) {
				s.shift[pair] = min(s.shift[pair], uint8(wordLen-end))
				if end == wordLen {
					s.addTail(pair, windowed{w, at})
				}
			}
		}
	}
	return s
}

func (s *skipper) addTail(pair uint16, w windowed) {
	if s.tails[pair] == 0 {
		if len(s.words) > math.MaxUint8 {
			panic("message: more endings of words than a byte can number; make skipper.tails wider")
		}
		s.words = append(s.words, nil)
		s.tails[pair] = uint8(len(s.words) - 1)
	}
	s.words[s.tails[pair]] = append(s.words[s.tails[pair]], w)
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

// find returns the start of a word in b, or -1. No word begins before it, but for
// those that begin within the length of a word.
func (s *skipper) find(b []byte) int {
	i := wordLen - 1
	for i < len(b) {
		pair := uint16(b[i-1])<<8 | uint16(b[i])
		if n := s.shift[pair]; n > 0 {
			i += int(n)
			continue
		}
		start := i - wordLen + 1
		for _, w := range s.words[s.tails[pair]] {
			if from := start - w.at; from >= 0 && hasFold(b[from:], w.word) {
				return from
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
