package docs

import (
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "fill in the tables of claims.md from what was measured, and say that translations are of the pages as they are")

// TestClaims holds claims.md against what was measured and predicted: a table whose first
// column is "case" has rows of a line of the fixtures, and its headings say which figure of
// that line is in which unit. Figures of running text have to stand in a table of their
// section. -update fills the tables in.
func TestClaims(t *testing.T) {
	before, err := os.ReadFile("claims.md")
	if err != nil {
		t.Fatal(err)
	}
	m := measured{t: t, rows: map[string]row{}}
	m.read("../testdata/gpu/claims_check.txt")
	m.join("../testdata/gpu/claims_predicted.jsonl", "predicted_")
	after := m.fill(string(before))
	if *update {
		if err := os.WriteFile("claims.md", []byte(after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, is := strings.Split(string(before), "\n"), strings.Split(after, "\n")
	for i := range was {
		if was[i] != is[i] {
			t.Errorf("line %d of claims.md, which -update rewrites:\n%s\nand by what was measured:\n%s", i+1, was[i], is[i])
		}
	}
	if m.used < 100 {
		t.Errorf("%d rows of measured cases: the tables are not read", m.used)
	}
	for _, section := range strings.Split(after, "\n## ")[1:] {
		checkProse(t, section)
	}
}

// row is a line of a fixture, or an object in it.
type row map[string]any

// measured is all that was measured and predicted, by "claim/case".
type measured struct {
	t    *testing.T
	rows map[string]row
	used int
}

func (m *measured) read(name string) {
	for key, r := range lines(m.t, name) {
		if m.rows[key] != nil {
			m.t.Errorf("%s: %s is there twice", name, key)
		}
		m.rows[key] = r
	}
}

// join adds the fields of another fixture to the rows of the same cases, with a word before
// their names.
func (m *measured) join(name, word string) {
	for key, r := range lines(m.t, name) {
		if m.rows[key] == nil {
			m.t.Errorf("%s: %s was not measured", name, key)
			continue
		}
		for field, value := range r {
			m.rows[key][word+field] = value
		}
	}
}

// lines are the objects of a fixture, by "claim/case".
func lines(t *testing.T, name string) iter.Seq2[string, row] {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string, row) bool) {
		for line := range strings.Lines(string(text)) {
			var r row
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !yield(fmt.Sprint(r["claim"], "/", r["case"]), r) {
				return
			}
		}
	}
}

var caseCell = regexp.MustCompile("^`([a-z0-9_/-]+)`(?: ([a-z0-9_]+))?$")

// fill writes the cells of the tables.
func (m *measured) fill(page string) string {
	lines := strings.Split(page, "\n")
	var heads []string
	var base row
	for i, line := range lines {
		cells := cellsOf(line)
		switch {
		case len(cells) == 0:
			heads = nil
		case cells[0] == "case":
			heads, base = cells, nil
		case heads != nil && !strings.HasPrefix(cells[0], "--"):
			r := m.row(i+1, cells[0])
			lines[i] = m.line(i+1, heads, cells[0], r, base)
			if base == nil {
				base = r
			}
		}
	}
	return strings.Join(lines, "\n")
}

// row finds the line, or the object within it, that a cell names.
func (m *measured) row(line int, cell string) row {
	name := caseCell.FindStringSubmatch(cell)
	if name == nil || m.rows[name[1]] == nil {
		m.t.Fatalf("line %d of claims.md: %s was not measured", line, cell)
	}
	m.used++
	r := m.rows[name[1]]
	if name[2] == "" {
		return r
	}
	if within, ok := r[name[2]].(map[string]any); ok {
		return within
	}
	series, _ := r["series"].([]any)
	for _, one := range series {
		if within := one.(map[string]any); fmt.Sprint(within["request"]) == name[2] {
			return within
		}
	}
	m.t.Fatalf("line %d of claims.md: %s has no %s", line, name[1], name[2])
	return nil
}

func (m *measured) line(n int, heads []string, first string, r, base row) string {
	cells := []string{first}
	for _, head := range heads[1:] {
		figure := figures[head]
		if figure == nil {
			m.t.Fatalf("line %d of claims.md: no figure is called %q", n, head)
		}
		text, ok := figure(r, base)
		if !ok {
			m.t.Errorf("line %d of claims.md: %s has no %s", n, first, head)
		}
		cells = append(cells, text)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// cellsOf returns the cells of a table's line; none of another.
func cellsOf(line string) (cells []string) {
	inner, ok := strings.CutPrefix(line, "|")
	if !ok {
		return nil
	}
	for cell := range strings.SplitSeq(strings.TrimSuffix(inner, "|"), "|") {
		cells = append(cells, strings.TrimSpace(cell))
	}
	return cells
}

// figure writes a figure of a row; base is the first row of its table, nil for that itself.
type figure func(r, base row) (string, bool)

// figures are the headings that a table may have.
var figures = map[string]figure{
	"allocated, GiB":           amount(1<<30, 2, "peak_allocated_bytes", "allocated"),
	"reserved, GiB":            amount(1<<30, 2, "peak_reserved_bytes", "reserved"),
	"process, GiB":             amount(1<<30, 2, "process_bytes", "process"),
	"weights, MiB":             amount(1<<20, 0, "weights_bytes"),
	"one tensor, MiB":          amount(1<<20, 0, "one_tensor"),
	"matrix product, MiB":      amount(1<<20, 0, "matrix_product"),
	"convolution, MiB":         amount(1<<20, 0, "convolution"),
	"sort, FFT, inverse, MiB":  amount(1<<20, 0, "sort_fft_inverse"),
	"in the step, MiB":         amount(1<<20, 0, "step_extra_bytes"),
	"state, bytes a parameter": amount(1, 2, "bytes_a_parameter"),
	"step, ms":                 amount(1, 1, "step_ms"),
	"first call, ms":           amount(1, 0, "first_call_ms"),
	"context, ms":              amount(1, 0, "context_ms"),
	"first, ms":                amount(1, 0, "first_ms"),
	"later, ms":                amount(1, 1, "later_ms"),
	"after empty_cache, ms":    amount(1, 1, "after_empty_cache_ms"),
	"first steps, s":           amount(1, 1, "first_steps_s"),
	"unused, %":                amount(0.01, 1, "unused_at_peak"),
	"predicted, GiB":           amount(1<<30, 2, "predicted_peak_allocated_bytes"),
	"reserved, predicted, GiB": amount(1<<30, 2, "predicted_peak_reserved_bytes"),
	"GPU 0, GiB":               ofGPU(0),
	"GPU 1, GiB":               ofGPU(1),
	"retries":                  count("retries"),
	"segments":                 count("segments_made"),
	"reserved, %":              change("peak_reserved_bytes"),
	"step, %":                  change("step_ms"),
	"processes on the GPU":     func(r, _ row) (string, bool) { n, _, ok := onGPU(r); return strconv.Itoa(n), ok },
	"all of them, MiB":         func(r, _ row) (string, bool) { _, b, ok := onGPU(r); return group(fmt.Sprintf("%.0f", b/(1<<20))), ok },
}

// amount is the first of some fields that a row has, in a unit.
func amount(unit float64, decimals int, fields ...string) figure {
	return func(r, _ row) (string, bool) {
		for _, field := range fields {
			if v, ok := r[field].(float64); ok {
				return group(strconv.FormatFloat(v/unit, 'f', decimals, 64)), true
			}
		}
		return "", false
	}
}

// count is a number where the row has one; an object within a row has none.
func count(field string) figure {
	return func(r, _ row) (string, bool) {
		if v, ok := r[field].(float64); ok {
			return group(strconv.FormatFloat(v, 'f', 0, 64)), true
		}
		return "", true
	}
}

// change is by how many per cent a field is more or less than that of the first row, which
// has none itself.
func change(field string) figure {
	return func(r, base row) (string, bool) {
		v, ok := r[field].(float64)
		if base == nil || !ok {
			return "", ok
		}
		b, ok := base[field].(float64)
		text := strings.Replace(fmt.Sprintf("%+.0f", 100*(v/b-1)), "-", "−", 1)
		if text == "+0" || text == "−0" {
			text = "0"
		}
		return text, ok
	}
}

func onGPU(r row) (processes int, bytes float64, ok bool) {
	list, ok := r["on_gpu"].([]any)
	for _, one := range list {
		b, _ := one.(map[string]any)["bytes"].(float64)
		bytes += b
	}
	return len(list), bytes, ok
}

// ofGPU is the peak of reserved memory of one of several GPUs.
func ofGPU(i int) figure {
	return func(r, _ row) (string, bool) {
		list, _ := r["gpus"].([]any)
		if i >= len(list) {
			return "", false
		}
		return amount(1<<30, 2, "reserved")(list[i].(map[string]any), nil)
	}
}

// group sets commas between thousands.
func group(s string) string {
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		return whole + "." + rest
	}
	return whole
}

var proseFigure = regexp.MustCompile(`([0-9][0-9,.]*) (GiB|ms)\b`)

// checkProse looks for figures of memory and time in running text that no table of the
// section has. A paragraph that links to where its figures are from is let alone, and so are
// headings, which quote the advice.
func checkProse(t *testing.T, section string) {
	title, _, _ := strings.Cut(section, "\n")
	known := map[string]bool{}
	for line := range strings.SplitSeq(section, "\n") {
		for _, cell := range cellsOf(line) {
			known[cell] = true
		}
	}
	for _, paragraph := range strings.Split(section, "\n\n")[1:] {
		if strings.HasPrefix(paragraph, "|") || strings.Contains(paragraph, "accuracy.md") || strings.Contains(paragraph, "testdata/recordings") {
			continue
		}
		for _, found := range proseFigure.FindAllStringSubmatch(paragraph, -1) {
			number := strings.TrimRight(found[1], ".,")
			if !strings.Contains(number, ".") {
				continue // what was asked for, as "6 GiB", and not what came of it
			}
			if !known[number] {
				t.Errorf("%s: %s %s stands in no table of its section", title, number, found[2])
			}
		}
	}
}
