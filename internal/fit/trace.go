package fit

// Trace is what one process did to its devices' memory, as far as the program itself asks
// for memory.
type Trace struct {
	Name    string // of the file, for errors
	Meta    Meta
	Frames  []Frame
	Stacks  []Stack
	Sigs    []Sig
	Modules []Module
	Events  []Event
	News    []Storage // of all events, each of which has a range of it
	Texts   []Text
	Ranks   Ranks

	Remedies []Applied // that the tracer was to try, in the order in which it told of them

	Storage int    // ids of storages are below it
	End     *End   // nil where the process was killed
	Cut     string // why the last lines could not be read; "" where the file is whole
}

// Meta is the first line.
type Meta struct {
	Version   int               `json:"version"`
	PID       int               `json:"pid"`
	Rank      int               `json:"rank"`
	World     int               `json:"world"`
	Argv      []string          `json:"argv"`
	Python    string            `json:"python"`
	Torch     string            `json:"torch"`
	CUDA      string            `json:"cuda"`
	CuDNN     int               `json:"cudnn"`
	Device    DeviceProperties  `json:"device"`
	Devices   int               `json:"devices"`
	AllocConf string            `json:"alloc_conf"`
	Env       map[string]string `json:"env"`
}

// DeviceProperties is what the program was told of the GPU.
type DeviceProperties struct {
	Name            string `json:"name"`
	TotalBytes      int64  `json:"total_bytes"`
	Major           int    `json:"major"`
	Minor           int    `json:"minor"`
	Multiprocessors int    `json:"multiprocessors"`
}

// Frame is one position in code.
type Frame struct {
	File string
	Line int
	Name string
}

// Stack is a stack of frames, innermost first.
type Stack struct {
	Frames []int32
	More   int // frames left out at the outer end
}

// Module is a module within the model.
type Module struct {
	Name, Class string
}

// Sig is an operator with the form of its arguments: all calls alike share it.
type Sig struct {
	Op   string // "aten.mm.default"
	In   []Tensor
	Args map[string]any // by the schema's names: float64, bool, string, nil, []any of these; an index into In where a tensor is meant
	Out  []Tensor
}

// Kind is what an event tells.
type Kind uint8

// Kinds of events.
const (
	Op Kind = iota
	Alloc
	Free
	Use
	Sync
	Step
	EmptyCache
	ResetPeak
	Fraction
	Set
	Tag
	Note
)

// Event is a line of the trace that is no table.
type Event struct {
	Kind   Kind
	Phase  byte   // f, b, o or r
	Thread uint8  // 0 main, 1 autograd
	Sig    int32  // of Op
	Stack  int32  // -1 for none
	Module int32  // -1 for none
	Stream uint32 // 0 is the default stream
	ID     int32  // of the storage of Alloc, Free, Use and Tag; of Step, the optimizer
	First  int32  // Op, Alloc: News[First:First+Count]
	Count  int32
	Text   int32   // index into Texts, of Set, Tag, Note and Step; -1 for none
	Value  float64 // of Set and Fraction; 1 for true; of Step, how many there were
	Line   int32   // of the file
}

// Text is what an event says in words: of Set name and value, of Tag what it is and its
// name, of Note kind and text, of Step what made it.
type Text struct {
	What, Text string
}

// Storage is memory that a program asks for.
type Storage struct {
	ID     int32
	Device int32
	Bytes  int64
}

// End is the last line.
type End struct {
	Reason  string  `json:"reason"`
	Steps   int     `json:"steps"`
	Calls   int     `json:"calls"`
	Status  int     `json:"status"`
	Caught  string  `json:"caught"` // what the tracer could not do, and the program went on after
	Error   string  `json:"error"`
	Message string  `json:"message"`
	Where   string  `json:"where"`
	Fault   string  `json:"fault"`
	Live    int     `json:"live"`
	Seconds float64 `json:"seconds"`
	Host    int64   `json:"host_peak_bytes"`
}
