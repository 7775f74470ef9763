package fit

// cuDNN's recurrent layers. How much they take is cuDNN's choice. Of 384 measured ones
// (testdata/gpu, operators-h200) the workspace is 8 MiB and a copy of the weights for each
// layer and direction, and for each step of each sequence a number of values that goes with
// the sizes of state and input: as one kernel keeps them for wide states, as others do for
// narrow ones. Widths of 64 and 512 were measured; which kernels run between, nobody says,
// so that the more of the two is the bound there.
//
// The reserve, which the backward pass needs, is a result, and of a size that follows from
// the layer's: the trace has it.

const (
	recurrentFunction = "at::native::_cudnn_rnn"
	recurrentPlan     = 8 << 20 // for each layer and direction
	recurrentWide     = 256     // the width of a state from which on it is taken for wide
	recurrentSure     = 512     // and from which on it is known to be
)

var recurrentRecipes = map[string]recipe{
	"_cudnn_rnn": planRecurrent, "_cudnn_rnn_backward": planRecurrent, "miopen_rnn": planRecurrent,
}

// recurrentMode is one of cuDNN's four: two plain ones, LSTM and GRU. Values of each step are
// state times the first number and input times the second, by directions.
type recurrentMode struct {
	gates        int64
	wide, narrow [2][2]float64
}

var recurrentModes = [...]recurrentMode{
	{1, [2][2]float64{{4, 2}, {12, 2}}, [2][2]float64{{12, 3}, {15, 6}}},
	{1, [2][2]float64{{4, 2}, {12, 2}}, [2][2]float64{{12, 3}, {15, 6}}},
	{4, [2][2]float64{{5, 1}, {14, 1}}, [2][2]float64{{20.33, 1.67}, {27.33, 3.67}}},
	{3, [2][2]float64{{4, 2}, {12, 2}}, [2][2]float64{{17, 3}, {20, 6}}},
}

// recurrentShape is what a layer's workspace depends on.
type recurrentShape struct {
	mode                              recurrentMode
	steps, batch                      int64 // steps of all sequences together
	input, hidden, layers, directions int64
	element                           int64
}

func planRecurrent(c *call) {
	in, state := c.s.first("input"), c.s.tensor("hx")
	if in == nil || len(in.Shape) < 2 {
		return
	}
	mode := int(c.s.number("mode", 2))
	if mode < 0 || mode >= len(recurrentModes) {
		mode = 2
	}
	r := recurrentShape{
		mode: recurrentModes[mode], steps: in.Numel() / max(in.Dim(-1), 1), batch: 1, input: in.Dim(-1), hidden: int64(c.s.number("hidden_size", 0)),
		layers: int64(c.s.number("num_layers", 1)), directions: 1, element: in.Element(),
	}
	if c.s.flag("bidirectional") {
		r.directions = 2
	}
	if state != nil && len(state.Shape) == 3 {
		r.batch = state.Dim(1)
	}
	c.c.job.Used.CuDNN = true
	c.p.rest()
	c.p.drop(c.p.between(Recurrent, recurrentFunction, r.workspace(r.hidden >= recurrentWide), r.high()))
}

// workspace is for a state that is wide, or narrow.
func (r *recurrentShape) workspace(wide bool) int64 {
	values := r.mode.narrow
	if wide {
		values = r.mode.wide
	}
	each := values[r.directions-1]
	rows := float64(r.steps) * (each[0]*float64(r.hidden) + each[1]*float64(r.input))
	ends := 10 * r.batch * r.hidden * r.layers * r.directions
	return r.element*(int64(rows)+ends+r.weights()) + recurrentPlan*r.layers*r.directions
}

// weights are the values of all weights, biases apart.
func (r *recurrentShape) weights() int64 {
	each := r.directions * r.mode.gates * r.hidden
	return each*(r.input+r.hidden) + (r.layers-1)*each*(r.directions*r.hidden+r.hidden)
}

// high is the most that it may be: a tenth more than the rule of its width, or than the more
// of the two rules where the width is not known, and in 16 bits, where some wide layers went
// by the other rule.
func (r *recurrentShape) high() int64 {
	most := r.workspace(r.hidden >= recurrentWide)
	if r.hidden < recurrentSure || r.element == 2 {
		most = max(most, r.workspace(false), r.workspace(true))
	}
	return most + most/10
}
