package fit

// cuDNN's recurrent layers. How much they take is cuDNN's choice; of 384 measured ones the
// workspace is 16 MiB for each direction, and some multiples of the gates' values. The
// reserve, which the backward pass needs, is a result, and of a size that follows from the
// layer's: the trace has it.

const recurrentFunction = "at::native::_cudnn_rnn"

var recurrentRecipes = map[string]recipe{
	"_cudnn_rnn": planRecurrent, "_cudnn_rnn_backward": planRecurrent, "miopen_rnn": planRecurrent,
}

// gates of cuDNN's modes: two plain ones, LSTM and GRU.
var gates = [...]int64{1, 1, 4, 3}

func planRecurrent(c *call) {
	in := c.s.first("input")
	if in == nil || len(in.Shape) < 2 {
		return
	}
	directions := int64(1)
	if c.s.flag("bidirectional") {
		directions = 2
	}
	mode := int(c.s.number("mode", 2))
	if mode < 0 || mode >= len(gates) {
		mode = 2
	}
	hidden, layers := int64(c.s.number("hidden_size", 0)), int64(c.s.number("num_layers", 1))
	values := in.Numel() / max(in.Dim(-1), 1) * hidden * layers * directions * gates[mode] * in.Element()
	work := directions*16<<20 + 2*values
	c.c.job.Used.CuDNN = true
	c.p.rest()
	c.p.drop(c.p.between(Recurrent, recurrentFunction, work, work+4*values))
}
