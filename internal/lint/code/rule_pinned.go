package code

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
	"github.com/ullage-dev/ullage/internal/units"
)

// worthWhile is how much rounding has to waste before it is worth a line.
const worthWhile = 256 * units.MiB

// checkPinnedRounding finds pinned tensors whose size is known and well above a power of two.
func checkPinnedRounding(p *pass) {
	for _, c := range p.Calls {
		made := c
		switch {
		case c.Method == "pin_memory" && len(c.Args()) == 0:
			made = p.Call(p.followed(c.Object))
		case !c.Keyword("pin_memory").Is("true"):
			continue
		}
		size, ok := p.bytesOf(made)
		if !ok || size < 1 {
			continue
		}
		rounded := int64(1) << bits.Len64(uint64(size-1))
		if rounded-size < worthWhile {
			continue
		}
		p.report(c.Node, rules.Mistake{
			Rule: "host/pinned-rounding", Severity: rules.Warning, Confidence: rules.Medium,
			Message:  fmt.Sprintf("%s of pinned memory take %s of main memory: the host allocator rounds up to a power of two", units.FormatBytes(size), units.FormatBytes(rounded)),
			Evidence: []string{fmt.Sprintf("line %d: %s", p.Line(made.Node), short(made.Node))},
			Remedy:   "cut the buffer into pieces a little smaller than a power of two, or in newer releases set pinned_max_round_threshold_mb",
		})
	}
}

// bytesOf returns the size of the tensor that a call makes, where shape and dtype are written out.
func (p *pass) bytesOf(c *pyscope.Call) (int64, bool) {
	if c == nil || c.Open() || !strings.HasPrefix(c.Name, "torch.") {
		return 0, false
	}
	switch strings.TrimPrefix(c.Name, "torch.") {
	case "empty", "zeros", "ones", "rand", "randn":
	default:
		return 0, false
	}
	dims := c.Args()
	if len(dims) == 1 && dims[0].Is("tuple", "list") {
		list := dims[0]
		dims = nil
		for d := range list.Children() {
			dims = append(dims, d)
		}
	}
	width, ok := p.dtypeBytes(c.Keyword("dtype"))
	total := float64(width)
	for _, d := range dims {
		n, known := p.number(d, 0)
		ok = ok && known
		total *= n
	}
	return int64(total), ok && len(dims) > 0 && total < math.MaxInt64/4
}

// dtypeBytes returns the width of a dtype; float32 where none is named.
func (p *pass) dtypeBytes(n syntax.Node) (int, bool) {
	if !n.Ok() {
		return 4, true
	}
	switch strings.TrimPrefix(p.Qualified(n), "torch.") {
	case "float64", "double", "int64", "long", "complex64":
		return 8, true
	case "float32", "float", "int32", "int":
		return 4, true
	case "float16", "half", "bfloat16", "int16", "short":
		return 2, true
	case "uint8", "int8", "bool", "float8_e4m3fn", "float8_e5m2":
		return 1, true
	}
	return 0, false
}

// number returns the value of an expression of whole numbers.
func (p *pass) number(n syntax.Node, depth int) (float64, bool) {
	if depth > 8 {
		return 0, false
	}
	switch n.Kind() {
	case "integer":
		v, err := parseInteger(n.Text())
		return v, err == nil
	case "parenthesized_expression":
		return p.number(n.Child(0), depth+1)
	case "identifier", "attribute":
		if v := p.constantOf(n); v != n {
			return p.number(v, depth+1)
		}
	case "binary_operator":
		a, okA := p.number(n.Field("left"), depth+1)
		b, okB := p.number(n.Field("right"), depth+1)
		v, ok := operate(n.Field("operator").Text(), a, b)
		return v, ok && okA && okB
	}
	return 0, false
}

func operate(operator string, a, b float64) (float64, bool) {
	switch operator {
	case "*":
		return a * b, true
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "**":
		return math.Pow(a, b), true
	case "//":
		return math.Floor(a / b), b != 0
	case "<<":
		return a * math.Pow(2, b), true
	}
	return 0, false
}

// constantOf returns what a name is only ever assigned, also as one of several: A, B = 1, 2.
func (p *pass) constantOf(n syntax.Node) syntax.Node {
	place := p.Place(n)
	if place == nil {
		return n
	}
	stores := place.Stores()
	if len(stores) != 1 || stores[0].Kind != pyscope.Store || stores[0].How != pyscope.ByAssign {
		return n
	}
	if part := stores[0].Part; part >= 0 {
		if !stores[0].Value.Is("expression_list", "tuple", "list") {
			return n
		}
		return stores[0].Value.Child(part)
	}
	return stores[0].Value
}

// parseInteger reads a whole number as Python writes it: 200_000, 0x10.
func parseInteger(text string) (float64, error) {
	v, err := strconv.ParseInt(text, 0, 64)
	return float64(v), err
}
