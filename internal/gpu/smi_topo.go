package gpu

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// learnLinks asks nvidia-smi for its matrix of links, where it is time to.
func (p *smi) learnLinks(ctx context.Context, r *Reading) {
	if len(r.Devices) > 1 && p.links.due(r) {
		out, err := p.m.Run(ctx, "nvidia-smi", "topo", "-m")
		var links []Link
		if err == nil {
			links, err = parseTopo(string(out), r.Devices)
		}
		p.links.learn(r, links, err)
	}
	p.links.tell(r)
}

var (
	topoGPU = regexp.MustCompile(`^GPU(\d{1,4})$`)
	// escapes underline the heading, on a terminal or not.
	escapes = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)
)

// topoKinds are the words of the matrix, besides NV with a number of links.
var topoKinds = map[string]LinkKind{
	"INT": LinkBoard, "PSB": LinkBoard, "PIX": LinkPIX, "PXB": LinkPXB, "PHB": LinkPHB, "NODE": LinkNode, "SYS": LinkSys,
	"SOC": LinkSys, // of drivers before 384
}

// parseTopo reads what "nvidia-smi topo -m" prints: a heading that names the columns, GPUs
// first, then network cards, then affinities, whose headings have spaces within; then a line
// for each of them. Columns stand apart by tabs or by spaces.
//
//	      GPU0  GPU1  NIC0  CPU Affinity  NUMA Affinity
//	GPU0   X    NV4   SYS   0-31          0
//	GPU1  NV4    X    SYS   0-31          0
//	NIC0  SYS   SYS    X
//
// Its GPUs have the numbers of the other lists of nvidia-smi.
func parseTopo(text string, devices []Device) ([]Link, error) {
	var columns []int
	rows := map[int][]string{}
	for line := range strings.Lines(escapes.ReplaceAllString(text, "")) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case columns == nil:
			columns = gpuColumns(fields)
		case topoGPU.MatchString(fields[0]):
			n := gpuNumber(fields[0])
			if _, twice := rows[n]; twice || len(fields) <= len(columns) {
				return nil, fmt.Errorf("nvidia-smi topo -m: the line of GPU%d is cut short, or there twice", n)
			}
			rows[n] = fields[1 : 1+len(columns)]
		}
	}
	if len(columns) != len(devices) || len(rows) != len(devices) {
		return nil, fmt.Errorf("nvidia-smi topo -m has %d columns and %d lines of GPUs, expected %d: %.80q", len(columns), len(rows), len(devices), strings.TrimSpace(text))
	}
	return topoLinks(columns, rows, devices)
}

// gpuColumns are the numbers of the GPUs that a heading begins with; nil if it is none.
func gpuColumns(fields []string) (columns []int) {
	for _, f := range fields {
		if !topoGPU.MatchString(f) {
			break
		}
		columns = append(columns, gpuNumber(f))
	}
	return columns
}

func gpuNumber(name string) int {
	n, _ := strconv.Atoi(name[len("GPU"):]) // up to four digits, says the pattern
	return n
}

// topoLinks reads the cells. Both of a pair say the same, and the diagonal has an X; else the
// columns are not what they are taken for.
func topoLinks(columns []int, rows map[int][]string, devices []Device) (links []Link, err error) {
	cell := func(a, b *Device) string {
		at := slices.Index(columns, b.Index)
		if at < 0 || rows[a.Index] == nil {
			return ""
		}
		return rows[a.Index][at]
	}
	for i := range devices {
		a := &devices[i]
		if cell(a, a) != "X" {
			return nil, fmt.Errorf("nvidia-smi topo -m: GPU%d is %.20q to itself, expected X", a.Index, cell(a, a))
		}
		for k := i + 1; k < len(devices); k++ {
			b := &devices[k]
			if cell(a, b) != cell(b, a) {
				return nil, fmt.Errorf("nvidia-smi topo -m: GPU%d and GPU%d are %.20q one way, and %.20q the other", a.Index, b.Index, cell(a, b), cell(b, a))
			}
			if link, told := topoLink(cell(a, b)); told && (link.Kind != LinkNVLink || !a.MIG && !b.MIG) {
				link.A, link.B = a.UUID, b.UUID
				links = append(links, link)
			}
		}
	}
	if len(links) == 0 {
		return nil, errors.New("nvidia-smi topo -m tells of no pair")
	}
	return links, nil
}

// topoLink reads one cell. NVLinks of a GPU that is split are not told: none of its instances
// can use them, and what way there is instead the matrix does not say.
func topoLink(cell string) (link Link, told bool) {
	if n, ok := strings.CutPrefix(cell, "NV"); ok {
		lanes, err := strconv.Atoi(n)
		return Link{Kind: LinkNVLink, Lanes: lanes}, err == nil && lanes > 0 && lanes <= maxLanes
	}
	kind, told := topoKinds[cell]
	return Link{Kind: kind}, told
}
