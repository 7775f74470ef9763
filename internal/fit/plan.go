package fit

// Term is why memory is asked for: by the program, or by an operator for itself.
type Term uint8

// Terms. Each is modelled in a file of its own.
const (
	Program     Term = iota // results of operators and what the program allocates
	CuBLAS                  // workspace of a handle, kept
	Convolution             // cuDNN's workspace, and copies into another layout
	Attention               // scratch of fused attention kernels
	Reduction               // partial results of a reduction that many blocks share
	Sorting                 // radix sort, unique, and what is built on them
	Temporary               // a tensor that an operator makes and drops
	Recurrent               // cuDNN's workspace for LSTM, GRU and RNN
	NCCL                    // communication buffers taken from the caching allocator
	numTerms
)

var termNames = [numTerms]string{"program", "cublas", "convolution", "attention", "reduction", "sorting", "temporary", "recurrent", "nccl"}

// String returns the term's name, as JSON has it.
func (t Term) String() string { return termNames[min(t, numTerms-1)] }

// step is one request or free within an operator.
type step struct {
	what  stepKind
	index int32 // of stepTake, the place in the operator's new storages; else the scratch
	bytes int64
	high  int64 // what it may be at the most, with the confidence that Profile states
	term  Term
	fn    string // C++ function that asks for it
}

type stepKind uint8

const (
	stepTake       stepKind = iota // memory that the trace lists
	stepScratch                    // memory that the operator takes for itself
	stepDrop                       // and gives back
	stepEmptyCache                 // all that is cached goes back to the driver
)

// plan is the order of requests and frees within one operator. The zero plan takes what
// the trace lists.
type plan struct {
	steps   []step
	scratch int32
	taken   []bool
}

func (p *plan) reset(news int) {
	p.steps, p.scratch = p.steps[:0], 0
	p.taken = append(p.taken[:0], make([]bool, news)...)
}

// take takes the i-th storage that the trace lists, if there is such and it was not taken.
func (p *plan) take(i int) {
	if i >= 0 && i < len(p.taken) && !p.taken[i] {
		p.taken[i] = true
		p.steps = append(p.steps, step{what: stepTake, index: int32(i)})
	}
}

// skip leaves out a storage that the trace lists, but a real run does not ask the GPU for.
func (p *plan) skip(i int) {
	if i >= 0 && i < len(p.taken) {
		p.taken[i] = true
	}
}

// rest takes what is left, in order.
func (p *plan) rest() {
	for i := range p.taken {
		p.take(i)
	}
}

// need takes memory that the operator gives back with drop, or keeps for ever.
func (p *plan) need(term Term, fn string, bytes int64) int32 {
	return p.between(term, fn, bytes, bytes)
}

// between is need for an amount that is known within bounds only. Requests of nothing
// never reach the allocator.
func (p *plan) between(term Term, fn string, bytes, high int64) int32 {
	if bytes <= 0 && high <= 0 {
		return -1
	}
	p.scratch++
	p.steps = append(p.steps, step{stepScratch, p.scratch - 1, max(bytes, 0), max(high, bytes), term, fn})
	return p.scratch - 1
}

// drop gives back what need returned.
func (p *plan) drop(scratch ...int32) {
	for _, s := range scratch {
		if s >= 0 {
			p.steps = append(p.steps, step{what: stepDrop, index: s})
		}
	}
}

// emptyCache gives all cached memory back to the driver.
func (p *plan) emptyCache() { p.steps = append(p.steps, step{what: stepEmptyCache}) }

// brief takes memory and gives it back at once.
func (p *plan) brief(term Term, fn string, bytes int64) { p.drop(p.need(term, fn, bytes)) }
