package term

import (
	"io"
	"strings"

	"github.com/ullage-dev/ullage/internal/units"
)

// Node is an amount of memory that is made up of smaller ones.
type Node struct {
	Label    string
	Note     string // after the label, dim
	Style    Style  // of the label
	Bytes    int64
	Children []Node
}

// Tree prints an amount of memory and what it is made of. Sizes, shares and bars stand in
// columns on the left, whatever the depth, so that they compare at a glance; the branches
// are drawn before the labels.
type Tree struct {
	Total  int64 // 100 %; 0: the bytes of the first node
	Bar    int   // columns of the bars; 0: none
	Indent int   // columns left free before each row
}

// Print writes the trees that begin at roots, one below the other.
func (t Tree) Print(w io.Writer, l Look, roots ...Node) error {
	if t.Total == 0 && len(roots) > 0 {
		t.Total = roots[0].Bytes
	}
	p := treePrinter{tree: t, look: l, branches: asciiBranches}
	if l.Unicode {
		p.branches = unicodeBranches
	}
	for _, n := range roots {
		p.node(n, "", "")
	}
	var b strings.Builder
	for _, row := range p.rows {
		p.line(&b, row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// branches are drawn before a label: for a node that has siblings after it, for the last
// one, and for their children.
type branches struct{ middle, last, through, blank string }

var (
	unicodeBranches = branches{"├─ ", "└─ ", "│  ", "   "}
	asciiBranches   = branches{"|- ", "`- ", "|  ", "   "}
)

type treePrinter struct {
	tree     Tree
	look     Look
	branches branches
	rows     []treeRow
	size     int // width of the column of sizes
	share    int
}

type treeRow struct {
	size, share, bar, branch string
	node                     Node
}

// node adds a row for n, whose label follows branch, and rows for its children, whose
// branches begin with below.
func (p *treePrinter) node(n Node, branch, below string) {
	row := treeRow{
		size:   units.FormatBytes(n.Bytes),
		share:  units.FormatShare(n.Bytes, p.tree.Total),
		bar:    p.look.Bar(n.Bytes, p.tree.Total, p.tree.Bar),
		branch: branch,
		node:   n,
	}
	p.size, p.share = max(p.size, Width(row.size)), max(p.share, Width(row.share))
	p.rows = append(p.rows, row)
	for i, child := range n.Children {
		if i < len(n.Children)-1 {
			p.node(child, below+p.branches.middle, below+p.branches.through)
		} else {
			p.node(child, below+p.branches.last, below+p.branches.blank)
		}
	}
}

func (p *treePrinter) line(b *strings.Builder, row treeRow) {
	left := strings.Repeat(" ", p.tree.Indent) + padding(row.size, p.size) + row.size + "  " + padding(row.share, p.share) + row.share + "  "
	used := Width(left) + Width(row.branch)
	line := left
	if p.tree.Bar > 0 {
		line += p.look.Paint(Cyan, row.bar) + "  "
		used += p.tree.Bar + 2
	}
	label, note := p.texts(row.node, used)
	line += p.look.Paint(Dim, row.branch) + p.look.Paint(row.node.Style, label)
	if note != "" {
		line += "  " + p.look.Paint(Dim, note)
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// texts returns the label and the note of n, cut to what a line has left of used columns.
func (p *treePrinter) texts(n Node, used int) (label, note string) {
	label, note = Clean(n.Label), Clean(n.Note)
	if p.look.Width == 0 {
		return label, note
	}
	room := max(p.look.Width-used, minColumn)
	label = p.look.CutEnd(label, room)
	return label, p.look.CutEnd(note, room-Width(label)-2)
}
