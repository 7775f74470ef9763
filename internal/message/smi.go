package message

import (
	"bytes"
	"strconv"
	"strings"
)

// maxSMILines bounds what is read after the header: eight GPUs with all slices and
// fifty processes take about 130 lines.
const maxSMILines = 900

// smi reads what nvidia-smi prints: its table, its -q form, or CSV.
func (s *scanner) smi(v *view, i int) int {
	text := v.lines[i].text
	var r *SMI
	end := i
	switch {
	case bytes.Contains(text, []byte("NVIDIA-SMI")) && bytes.Contains(text, []byte("Driver Version")):
		r, end = readSMITable(v, i)
	case bytes.Contains(text, []byte("NVSMI LOG")):
		r, end = readSMIQuery(v, i)
	case isCSVHeader(text):
		r, end = readSMICSV(v, i)
	}
	if r == nil || len(r.GPUs)+len(r.Processes) == 0 && !r.NoProcesses {
		return 0
	}
	r.Line = s.lineNumber(v.lines[i].at)
	s.rep.SMI = keep(s, s.rep.SMI, *r)
	return end - i
}

// sameProcess calls f for the lines after line i that the same process wrote, until
// f returns false or the lines end. It returns the line after the last that f took.
func (v *view) sameProcess(i, limit int, f func(text string) bool) int {
	key, end := v.lines[i].key, i+1
	for k := i + 1; k < i+limit; k++ {
		e, ok := v.get(k)
		if !ok {
			break
		}
		if e.key != key {
			continue
		}
		if !f(string(e.text)) {
			break
		}
		end = k + 1
	}
	return end
}

// readSMITable reads the default table. A GPU has two or three lines; the first
// has its number and name, the second its memory.
func readSMITable(v *view, i int) (*SMI, int) {
	t := &smiTable{r: &SMI{}}
	header := string(v.lines[i].text)
	t.r.Driver = fieldAfter(header, "Driver Version:")
	t.r.CUDA = fieldAfter(header, "CUDA Version:")
	end := v.sameProcess(i, maxSMILines, t.line)
	return t.r, end
}

// smiTable is the part of the table that is being read.
type smiTable struct {
	r         *SMI
	inMIG     bool
	inProcess bool
	blank     int
}

// line reads a line of the table; it returns false after the table.
func (t *smiTable) line(text string) bool {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		t.blank++
		return t.blank < 3
	case text[0] != '|' && text[0] != '+':
		return false
	}
	t.blank = 0
	switch {
	case strings.Contains(text, "Processes:"):
		t.inProcess, t.inMIG = true, false
	case strings.Contains(text, "MIG devices:"):
		t.inMIG = true
	case t.inProcess && strings.Contains(text, "No running processes found"):
		t.r.NoProcesses = true
	case t.inProcess:
		t.process(text)
	case t.inMIG:
		t.slice(text)
	default:
		t.gpu(text)
	}
	return true
}

// gpu reads "|   0  Tesla V100 …  Off  | 00000000:82:00.0 Off |  0 |" and the line
// below it, "| N/A   38C    P0    49W / 300W |    449MiB / 32478MiB |  0%  Default |".
func (t *smiTable) gpu(text string) {
	cells := strings.Split(strings.Trim(text, "|"), "|")
	if len(cells) < 2 {
		return
	}
	f := strings.Fields(cells[0])
	if used, total, ok := usedOfTotal(cells[1]); ok {
		if n := len(t.r.GPUs); n > 0 && !t.r.GPUs[n-1].Total.Known() {
			t.r.GPUs[n-1].Used, t.r.GPUs[n-1].Total = used, total
		}
		return
	}
	if len(f) < 2 || !allDigits(f[0]) || !strings.Contains(cells[1], ":") {
		return
	}
	g := SMIGPU{ID: strings.Fields(cells[1])[0]}
	g.Index, _ = strconv.Atoi(f[0])
	if last := f[len(f)-1]; last == "On" || last == "Off" || last == "WDDM" || last == "TCC" || last == "N/A" {
		f = f[:len(f)-1]
	}
	g.Name = strings.Join(f[1:], " ")
	t.r.GPUs = append(t.r.GPUs, g)
}

// slice reads "|  0    1   0   0  |   11MiB / 20096MiB  | …": GPU, GI, CI, MIG device.
func (t *smiTable) slice(text string) {
	cells := strings.Split(strings.Trim(text, "|"), "|")
	f := strings.Fields(cells[0])
	if len(f) != 4 || len(cells) < 2 || !allDigits(f[0]) {
		return
	}
	used, total, ok := usedOfTotal(cells[1])
	if !ok {
		return
	}
	g := SMIGPU{Name: "MIG " + f[3], ID: f[1] + "/" + f[2], MIG: true, Used: used, Total: total}
	g.Index, _ = strconv.Atoi(f[0])
	t.r.GPUs = append(t.r.GPUs, g)
}

// process reads "|    0   N/A  N/A     10734      C   python      160MiB |", or the
// same without the two columns for slices, of drivers before 450.
func (t *smiTable) process(text string) {
	f := strings.Fields(strings.Trim(text, "|"))
	if len(f) < 4 || !allDigits(f[0]) {
		return
	}
	p := SMIProcess{}
	p.GPU, _ = strconv.Atoi(f[0])
	k := 1
	if !allDigits(f[1]) || len(f) > 5 && allDigits(f[2]) && allDigits(f[3]) { // GI and CI
		k = 3
	}
	if k+1 >= len(f) || !allDigits(f[k]) {
		return
	}
	p.PID, _ = strconv.Atoi(f[k])
	p.Type = f[k+1]
	last := len(f)
	if used, n := parseSize([]byte(f[last-1]), nearest); n > 0 {
		p.Used, last = used, last-1
	} else if f[last-1] == "N/A" {
		last--
	}
	p.Name = strings.Join(f[min(k+2, last):last], " ")
	t.r.Processes = append(t.r.Processes, p)
}

// usedOfTotal reads "449MiB / 32478MiB".
func usedOfTotal(cell string) (used, total Size, ok bool) {
	b := squeeze(nil, []byte(cell))
	used, n := parseSize(b, nearest)
	if n == 0 || n >= len(b) || b[n] != '/' {
		return Size{}, Size{}, false
	}
	total, m := parseSize(b[n+1:], nearest)
	return used, total, m > 0
}

// fieldAfter returns the word after a label.
func fieldAfter(text, label string) string {
	_, rest, ok := strings.Cut(text, label)
	if f := strings.Fields(rest); ok && len(f) > 0 {
		return strings.Trim(f[0], "|")
	}
	return ""
}

// readSMIQuery reads "nvidia-smi -q": "name : value" under indented headings.
func readSMIQuery(v *view, i int) (*SMI, int) {
	q := &smiQuery{r: &SMI{}}
	return q.r, v.sameProcess(i, maxSMILines, q.line)
}

type smiQuery struct {
	r       *SMI
	section string
	proc    *SMIProcess
	lines   int
}

// ends reports whether a line is not of the output any more: all of its lines are
// indented, or have a colon between blanks, or begin a GPU.
func (q *smiQuery) ends(text string) bool {
	if strings.Contains(text, "NVSMI LOG") || q.lines > 20 && len(q.r.GPUs) == 0 {
		return true
	}
	return text != "" && text[0] != ' ' && text[0] != '\t' && !strings.HasPrefix(text, "GPU ") && !strings.Contains(text, " : ")
}

func (q *smiQuery) line(text string) bool {
	if q.lines++; q.ends(text) {
		return false
	}
	name, value, ok := strings.Cut(text, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if strings.HasPrefix(strings.TrimSpace(text), "GPU ") && strings.Count(text, ":") == 2 {
		q.r.GPUs = append(q.r.GPUs, SMIGPU{Index: len(q.r.GPUs), ID: strings.TrimSpace(strings.TrimSpace(text)[4:])})
		q.section = ""
		return true
	}
	if !ok {
		if name != "" {
			q.section = name
		}
		return true
	}
	q.field(name, value)
	return true
}

func (q *smiQuery) field(name, value string) {
	switch {
	case name == "Driver Version":
		q.r.Driver = value
		return
	case name == "CUDA Version":
		q.r.CUDA = value
		return
	case len(q.r.GPUs) == 0:
		return
	}
	g := &q.r.GPUs[len(q.r.GPUs)-1]
	size, _ := parseSize(squeeze(nil, []byte(value)), nearest)
	switch {
	case name == "Product Name":
		g.Name = value
	case name == "Total" && q.section == "FB Memory Usage" && !g.Total.Known():
		g.Total = size
	case name == "Used" && q.section == "FB Memory Usage" && !g.Used.Known():
		g.Used = size
	case name == "Process ID":
		q.r.Processes = append(q.r.Processes, SMIProcess{GPU: g.Index})
		q.proc = &q.r.Processes[len(q.r.Processes)-1]
		q.proc.PID, _ = strconv.Atoi(value)
	case q.proc != nil:
		q.process(name, value, size)
	}
}

func (q *smiQuery) process(name, value string, size Size) {
	switch name {
	case "Type":
		q.proc.Type = value
	case "Name":
		q.proc.Name = value
	case "Used GPU Memory":
		q.proc.Used = size
	}
}

// isCSVHeader recognises the header of --query-gpu or --query-compute-apps.
func isCSVHeader(text []byte) bool {
	if bytes.IndexByte(text, ',') < 0 || !bytes.Contains(text, []byte("used")) {
		return false
	}
	t := strings.ToLower(string(text[:min(len(text), 400)]))
	return strings.Contains(t, ",") && (strings.Contains(t, "memory.used") || strings.Contains(t, "used_gpu_memory") || strings.Contains(t, "used_memory")) &&
		!strings.Contains(t, "nvidia-smi")
}

// readSMICSV reads rows by the names in their header.
func readSMICSV(v *view, i int) (*SMI, int) {
	r := &SMI{}
	names := csvFields(string(v.lines[i].text))
	apps := false
	for _, n := range names {
		apps = apps || strings.HasPrefix(n, "pid")
	}
	end := v.sameProcess(i, maxSMILines, func(text string) bool {
		f := csvFields(text)
		if len(f) != len(names) {
			return false
		}
		if apps {
			r.Processes = append(r.Processes, csvProcess(names, f))
		} else {
			r.GPUs = append(r.GPUs, csvGPU(names, f))
		}
		return true
	})
	return r, end
}

func csvFields(text string) []string {
	f := strings.Split(text, ",")
	for k := range f {
		f[k] = strings.TrimSpace(f[k])
	}
	return f
}

// csvSize reads "7801 MiB", or "7801" under a header that has the unit.
func csvSize(name, value string) Size {
	b := squeeze(nil, []byte(value))
	if strings.Contains(name, "[MiB]") && len(b) > 0 && allDigits(string(b)) {
		b = append(b, "MiB"...)
	}
	s, _ := parseSize(b, nearest)
	return s
}

func csvGPU(names, f []string) SMIGPU {
	g := SMIGPU{Index: -1}
	for k, n := range names {
		switch {
		case n == "index":
			g.Index, _ = strconv.Atoi(f[k])
		case n == "name" || n == "gpu_name":
			g.Name = f[k]
		case strings.Contains(n, "uuid") || strings.Contains(n, "bus_id"):
			g.ID = f[k]
		case strings.HasPrefix(n, "memory.used"):
			g.Used = csvSize(n, f[k])
		case strings.HasPrefix(n, "memory.total"):
			g.Total = csvSize(n, f[k])
		}
	}
	return g
}

func csvProcess(names, f []string) SMIProcess {
	p := SMIProcess{GPU: -1}
	for k, n := range names {
		switch {
		case strings.HasPrefix(n, "pid"):
			p.PID, _ = strconv.Atoi(f[k])
		case n == "process_name" || n == "name":
			p.Name = f[k]
		case strings.HasPrefix(n, "used"):
			p.Used = csvSize(n, f[k])
		}
	}
	return p
}
