package message

// Report is everything that was found in a text, in the order of the text.
type Report struct {
	OOMs      []OOM     `json:",omitzero"`
	Clues     []Clue    `json:",omitzero"`
	Summaries []Summary `json:",omitzero"`
	Stats     []Stats   `json:",omitzero"`
	SMI       []SMI     `json:",omitzero"`
	Settings  []string  `json:",omitzero"` // values of PYTORCH_ALLOC_CONF and its older names, each once
	Versions  []string  `json:",omitzero"` // versions of PyTorch that the text names, each once
	Lines     int       // lines read
	Bytes     int64     // bytes read
	Dropped   int       `json:",omitzero"` // findings beyond Options.MaxFindings, counted only
	CutLines  int       `json:",omitzero"` // lines of interest longer than 64 KiB, of which the part around the word was read
}

// Empty reports whether nothing of interest was found.
func (r *Report) Empty() bool {
	return len(r.OOMs)+len(r.Clues)+len(r.Summaries)+len(r.Stats)+len(r.SMI) == 0
}

// Source is the process that wrote a line, as far as the line's prefix tells.
type Source struct {
	Rank  int    // -1 where no prefix names it
	Label string `json:",omitzero"` // the prefix itself, without times: "rank3", "Worker_TP0", "web-1"
	PID   int    `json:",omitzero"`
	Host  string `json:",omitzero"` // name or address
}

// Form is a wording of an out-of-memory message.
type Form string

// Forms.
const (
	FormCached   Form = "cached"          // PyTorch 1.0 to 1.3: "…; SZ free; SZ cached)"
	FormReserved Form = "reserved"        // 1.4 to 2.0: "…; SZ reserved in total by PyTorch)"
	FormSentence Form = "sentence"        // 2.1 and newer: "GPU d has a total capacity of SZ of which …"
	FormAsync    Form = "cudaMallocAsync" // the back end of that name: "Allocation on device d would exceed …"
	FormMPS      Form = "mps"             // Apple: "MPS backend out of memory (…)"
	FormHuge     Form = "huge"            // "Tried to allocate more than 1EB memory."
	FormBare     Form = "bare"            // the words alone, without numbers
)

// OOM is an out-of-memory message of one of PyTorch's allocators. Sizes that the
// text does not give are zero (not Known).
type OOM struct {
	Form     Form
	Platform string `json:",omitzero"` // CUDA, HIP, XPU, NPU, MPS …; empty where the message was cut
	Class    string `json:",omitzero"` // of the exception, as printed
	GPU      int    // as the process counts them; -1 where not said

	Tried       Size      `json:",omitzero"` // what the allocator asked of the driver: a whole segment (FormAsync, FormMPS: the request itself)
	Capacity    Size      `json:",omitzero"` // of the device, or of its MIG slice
	Free        Size      `json:",omitzero"` // of it, as the driver says, after the cache was flushed
	Others      []Process `json:",omitzero"` // "Process P has SZ memory in use"
	ThisProcess Size      `json:",omitzero"` // "Including non-PyTorch memory, this process has SZ"
	Allowed     Size      `json:",omitzero"` // by a memory fraction; of MPS, by the high watermark
	Allocated   Size      `json:",omitzero"` // by PyTorch, with PrivatePool
	Active      Size      `json:",omitzero"` // NPU: "current active"
	PrivatePool Size      `json:",omitzero"` // free memory cached in private pools; the message counts it as allocated
	Unallocated Size      `json:",omitzero"` // reserved but not allocated, without PrivatePool
	Reserved    Size      `json:",omitzero"` // in total (FormReserved)
	OtherAllocs Size      `json:",omitzero"` // MPS: "other allocations"
	Pool        string    `json:",omitzero"` // MPS: private or shared
	Hint        string    `json:",omitzero"` // the setting that the message proposes
	Versions    string    `json:",omitzero"` // releases of PyTorch that word it so

	Source    Source
	Time      string  `json:",omitzero"` // of the first, as the line's prefix gives it
	Line      int     // first line of the first such message, from 1
	LastLine  int     `json:",omitzero"` // first line of the last equal message, where Count > 1
	Count     int     // equal messages of the same process
	Traceback []Frame `json:",omitzero"` // innermost first
	UserFrame int     // index in Traceback of the innermost frame outside of libraries; -1 for none
}

// Process is another line of the message: a process on the same GPU.
type Process struct {
	PID  int
	Used Size // not Known where the driver could not say
}

// Frame is a line of a Python traceback.
type Frame struct {
	File string
	Line int    `json:",omitzero"` // 0 where the text does not say
	Func string `json:",omitzero"`
}

// Clue is a message that means a lack of memory, or may mean it, without being an
// out-of-memory message of PyTorch's allocator.
type Clue struct {
	Kind     Kind
	Text     string // the line, without prefixes, at most 300 bytes
	GPU      int    // -1 where not said
	Size     Size   `json:",omitzero"` // what could not be allocated
	Used     Size   `json:",omitzero"` // what was in use, of Limit, or by the killed process
	Limit    Size   `json:",omitzero"`
	Process  string `json:",omitzero"` // name of the process that was killed
	Source   Source
	Time     string `json:",omitzero"`
	Line     int
	LastLine int     `json:",omitzero"`
	Count    int     // equal clues of the same process
	Frames   []Frame `json:",omitzero"` // innermost first
	User     int     // index in Frames of the innermost frame outside of libraries; -1 for none
}

// Summary is a table of torch.cuda.memory_summary(). Its sizes were rounded down.
type Summary struct {
	Device  int
	OOMs    int
	Retries int
	Rows    []Row
	Source  Source
	Line    int
}

// Row is a line of a Summary.
type Row struct {
	Metric string // key in memory_stats(): "allocated_bytes", "inactive_split" …
	Pool   string // "all", "large_pool" or "small_pool"
	Cells  [4]Size
}

// Columns of a Row.
const (
	Current = iota
	Peak
	TotalAllocated
	TotalFreed
)

// Get returns a cell of the table.
func (t *Summary) Get(metric, pool string, column int) (Size, bool) {
	for _, r := range t.Rows {
		if r.Metric == metric && r.Pool == pool {
			return r.Cells[column], true
		}
	}
	return Size{}, false
}

// Stats is a dictionary of torch.cuda.memory_stats(), flat or nested.
type Stats struct {
	Values map[string]int64 // keys as in the flat form: "allocated_bytes.all.current"
	Source Source
	Line   int
}

// SMI is what nvidia-smi printed: its table, -q, or CSV.
type SMI struct {
	Driver      string       `json:",omitzero"`
	CUDA        string       `json:",omitzero"`
	GPUs        []SMIGPU     `json:",omitzero"`
	Processes   []SMIProcess `json:",omitzero"`
	NoProcesses bool         `json:",omitzero"` // the table says that none was found
	Line        int
}

// SMIGPU is a GPU or a MIG slice; sizes are rounded to MiB.
type SMIGPU struct {
	Index int    // -1 where not said
	Name  string `json:",omitzero"`
	ID    string `json:",omitzero"` // bus id, or GI/CI of a slice
	MIG   bool   `json:",omitzero"`
	Used  Size   `json:",omitzero"`
	Total Size   `json:",omitzero"`
}

// SMIProcess is a process on a GPU.
type SMIProcess struct {
	GPU  int // -1 where not said
	PID  int
	Type string `json:",omitzero"` // C compute, G graphics, C+G
	Name string `json:",omitzero"`
	Used Size   `json:",omitzero"` // not Known where the driver says N/A
}

// Options are limits; zero values mean the defaults.
type Options struct {
	MaxFindings int // kept of each sort; default 1000
}
