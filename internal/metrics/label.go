package metrics

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ullage-dev/ullage/internal/term"
)

// maxLabelBytes bounds a label value: Prometheus keeps each in memory for hours, and a
// command line may have megabytes.
const maxLabelBytes = 128

// label makes a text from a user fit for a label: valid UTF-8 without control characters,
// and short. cut tells that some of it is missing; then a hash of the whole ends it, so that
// two texts that begin alike stay two.
func label(text string) (value string, cut bool) {
	if len(text) <= maxLabelBytes {
		if value = term.Clean(text); len(value) <= maxLabelBytes {
			return value, false
		}
	}
	hash := fnv.New32a()
	hash.Write([]byte(text))
	end := fmt.Sprintf("…%08x", hash.Sum32())
	clean := term.Clean(upTo(text, maxLabelBytes))
	return upTo(clean, maxLabelBytes-len(end)) + end, true
}

// upTo returns at most so many bytes of the beginning, in whole characters.
func upTo(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	for i := bytes; i > bytes-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(text[i]) {
			return text[:i]
		}
	}
	return text[:bytes] // no UTF-8 anyway
}

// whole prints a number that may be unknown, as an empty label: to Prometheus that is none.
func whole(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// queueLabel names the queue without a name, as a series without the label would be hard
// to ask for.
func queueLabel(name string) string {
	if name == "" {
		return "default"
	}
	return name
}

// bare is a UUID as two sides compare it: CUDA's and NVML's differ in what stands before it.
func bare(uuid string) string {
	uuid = strings.ToLower(uuid)
	for _, prefix := range []string{"gpu-", "mig-"} {
		uuid = strings.TrimPrefix(uuid, prefix)
	}
	return uuid
}
