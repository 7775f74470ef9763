package message

import (
	"bytes"
	"strings"
)

// metrics maps the names in a memory_summary() table to the keys of memory_stats().
var metrics = map[string]string{
	"Allocatedmemory": "allocated_bytes", "Activememory": "active_bytes", "Requestedmemory": "requested_bytes",
	"GPUreservedmemory": "reserved_bytes", "Non-releasablememory": "inactive_split_bytes",
	"Allocations": "allocation", "Activeallocs": "active", "GPUreservedsegments": "segment",
	"Non-releasableallocs": "inactive_split", "Oversizeallocations": "oversize_allocations", "OversizeGPUsegments": "oversize_segments",
}

// summary reads a memory_summary() table whose title is line i.
func (s *scanner) summary(v *view, i int) int {
	_, rest, ok := bytes.Cut(v.lines[i].text, []byte("memory summary, device ID"))
	if !ok {
		return 0
	}
	c := &cursor{b: squeeze(nil, rest)}
	device, ok := c.integer()
	if !ok {
		return 0
	}
	t := Summary{Device: device, Source: v.lines[i].src, Line: s.lineNumber(v.lines[i].at)}
	end := t.readTable(v, i)
	if len(t.Rows) == 0 {
		return 0
	}
	s.rep.Summaries = keep(s, s.rep.Summaries, t)
	return end - i
}

// maxBeforeRows is how many lines that are not of the table may stand before its rows.
const maxBeforeRows = 4

// readTable reads rows of the same process until the table ends, and returns the
// line after it. Other processes' lines may come between.
func (t *Summary) readTable(v *view, i int) int {
	key, metric, end, other := v.lines[i].key, "", i+1, 0
	for k := i + 1; k < i+200; k++ {
		e, ok := v.get(k)
		if !ok {
			break
		}
		if e.key != key {
			continue
		}
		cells := strings.Split(strings.Trim(string(bytes.TrimSpace(e.text)), "|"), "|")
		if t.counts(cells) {
			end = k + 1
			continue
		}
		if len(cells) == 1 && strings.Trim(cells[0], "=-") == "" && cells[0] != "" {
			end = k + 1
			continue
		}
		name, ok := t.row(cells, metric)
		if !ok {
			if other++; len(t.Rows) > 0 || other > maxBeforeRows {
				break // the table is over, or is none
			}
			continue
		}
		metric, end = name, k+1
	}
	return end
}

// counts reads "CUDA OOMs: 1 | cudaMalloc retries: 6".
func (t *Summary) counts(cells []string) bool {
	if len(cells) < 2 || !strings.Contains(cells[0], "OOMs:") {
		return false
	}
	_, ooms, _ := strings.Cut(cells[0], "OOMs:")
	_, retries, _ := strings.Cut(cells[1], "retries:")
	t.OOMs, _ = leadingInt(strings.TrimSpace(ooms))
	t.Retries, _ = leadingInt(strings.TrimSpace(retries))
	return true
}

// row reads a metric with its four columns. The two rows below it are its parts by
// pool.
func (t *Summary) row(cells []string, metric string) (string, bool) {
	if len(cells) < 5 {
		return "", false
	}
	name := string(squeeze(nil, []byte(cells[0])))
	r := Row{Pool: "all"}
	switch {
	case name == "fromlargepool":
		r.Pool = "large_pool"
	case name == "fromsmallpool":
		r.Pool = "small_pool"
	case name == "Metric":
		return "", true
	case metrics[name] != "":
		metric = metrics[name]
	default:
		return "", false
	}
	r.Metric = metric
	for k := range r.Cells {
		r.Cells[k] = cell(cells[k+1])
	}
	if metric != "" {
		t.Rows = append(t.Rows, r)
	}
	return metric, true
}

// cell reads "10344 MiB", or a count, which "K" and "M" shorten by thousands. Both
// were rounded down.
func cell(text string) Size {
	b := squeeze(nil, []byte(text))
	if s, n := parseSize(b, floor); n == len(b) && n > 0 {
		return s
	}
	m, _, n := parseNumber(b)
	if n == 0 {
		return Size{}
	}
	factor, width := int64(1), int64(0)
	switch string(b[n:]) {
	case "K":
		factor, width = 1000, 999
	case "M":
		factor, width = 1000000, 999999
	case "":
	default:
		return Size{}
	}
	v := int64(min(m, 1<<40)) * factor
	return Size{Text: string(b), Bytes: v, Low: v, High: v + width}
}
