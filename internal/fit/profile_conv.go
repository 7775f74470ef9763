package fit

import (
	"fmt"
	"strconv"
	"strings"
)

// ConvMeasurements are convolutions that were measured on a card.
type ConvMeasurements struct {
	Compared int      `json:"compared"` // workspaces that were measured on the H200 too
	Equal    int      `json:"equal"`    // and came out the same
	Rows     []string `json:"rows"`     // "MODE LAYOUT N C H W K R S STRIDE PAD DILATION GROUPS : FORWARD INPUT WEIGHT"

	table *convTable // of the rows; nil where there are none
}

// rowError is a row of measured convolutions that cannot be.
type rowError struct {
	at  int
	row string
	why string
}

func (e *rowError) Error() string {
	return fmt.Sprintf("calibration.convolutions.rows[%d]: %q: %s", e.at, e.row, e.why)
}

var convModes = []string{convTF32: "tf32", convF32: "f32", convF16: "f16", convBF16: "bf16"}

// formatConv writes a row: workspaces in bytes, "-" where one was not measured.
func formatConv(v *convShape, workspace [3]int64) string {
	layout := "nchw"
	if v.nhwc {
		layout = "nhwc"
	}
	words := []string{convModes[v.mode], layout, strconv.FormatInt(v.n, 10)}
	for i, f := range v.convFields() {
		if i < 10 {
			words = append(words, strconv.FormatInt(*f, 10))
		}
	}
	words = append(words, ":")
	for _, ws := range workspace {
		if ws < 0 {
			words = append(words, "-")
		} else {
			words = append(words, strconv.FormatInt(ws, 10))
		}
	}
	return strings.Join(words, " ")
}

// parseConv reads a row; why it cannot be is "" where it can.
func parseConv(row string) (v convShape, workspace [3]int64, why string) {
	words := strings.Fields(row)
	if len(words) != 17 || words[13] != ":" {
		return v, workspace, "expected a mode, a layout, 11 numbers, a colon, and 3 numbers"
	}
	mode := -1
	for m, name := range convModes {
		if name == words[0] {
			mode = m
		}
	}
	if mode < 0 || words[1] != "nchw" && words[1] != "nhwc" {
		return v, workspace, "expected tf32, f32, f16 or bf16, then nchw or nhwc"
	}
	v.mode, v.nhwc = convMode(mode), words[1] == "nhwc"
	fields := v.convFields()
	for i, f := range append(fields[10:], fields[:10]...) { // the batch is first
		n, err := strconv.ParseInt(words[2+i], 10, 32)
		if least := int64(truth(f != &v.pad)); err != nil || n < least || n > 1<<24 {
			return v, workspace, fmt.Sprintf("%q is no size", words[2+i])
		}
		*f = n
	}
	if v.c%v.groups != 0 || v.k%v.groups != 0 {
		return v, workspace, "channels that do not divide into its groups"
	}
	for d := range workspace {
		if workspace[d] = -1; words[14+d] == "-" {
			continue
		}
		n, err := strconv.ParseInt(words[14+d], 10, 64)
		if err != nil || n < 0 || n > unbounded {
			return v, workspace, fmt.Sprintf("%q is no workspace", words[14+d])
		}
		workspace[d] = n
	}
	return v, workspace, ""
}

// index makes the table of the rows.
func (m *ConvMeasurements) index() error {
	if m.Equal < 0 || m.Equal > m.Compared {
		return fmt.Errorf("calibration.convolutions: %d equal of %d compared", m.Equal, m.Compared)
	}
	at := map[convKey]int{}
	var layers []convLayer
	for i, row := range m.Rows {
		v, workspace, why := parseConv(row)
		if why != "" {
			return &rowError{i, row, why}
		}
		k, met := at[v.key()]
		if !met {
			k = len(layers)
			at[v.key()] = k
			l := convLayer{convShape: v}
			l.n = 0
			layers = append(layers, l)
		}
		layers[k].cases = append(layers[k].cases, convCase{v.n, workspace})
	}
	if len(layers) > 0 {
		m.table = newConvTable(layers)
	}
	return nil
}

// How many workspaces must have been compared for the share of equal ones to say
// something, and from which share on the H200's convolutions stand for the card's own.
// 100 tell 0.9 from 0.8 with 99 % confidence.
const (
	comparedLeast = 100
	alikeShare    = 0.9
	sameShare     = 0.99
)

func (m *ConvMeasurements) share() float64 {
	if m.Compared < comparedLeast {
		return 0
	}
	return float64(m.Equal) / float64(m.Compared)
}

// estimate returns a convolution's workspace on the card: as measured there; as on the H200
// where the two are the same; else the nearest of the card's own, or of the H200's where the two
// are alike or hardly known, with a bound that holds for both.
func (m *ConvMeasurements) estimate(v *convShape, d convDir, h200 *convTable) workspace {
	own := m.table.estimate(*v, d)
	if own.exact {
		return own
	}
	w := h200.estimate(*v, d)
	if m.share() >= sameShare {
		return w
	}
	low, high := min(w.low, own.low), max(w.high, own.high)
	if m.share() < alikeShare && m.Compared >= comparedLeast {
		w = own
	}
	w.low, w.high, w.exact = low, high, false
	return w
}
