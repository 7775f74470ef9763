package message

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Kind is what a Clue is about.
type Kind string

// Kinds. The first group is memory of the GPU that something else than PyTorch's
// caching allocator asked for; the second is memory of the host.
const (
	CUDAError     Kind = "cuda-error"       // "CUDA error: out of memory", by the runtime: context, module, event, pinned memory …
	DriverError   Kind = "driver-error"     // the same by the driver's API
	HIPError      Kind = "hip-error"        // the same on AMD
	NVMLAssert    Kind = "nvml-assert"      // PyTorch failed while it wrote its out-of-memory message
	CuBLASAlloc   Kind = "cublas-alloc"     // CUBLAS_STATUS_ALLOC_FAILED
	CuBLASInit    Kind = "cublas-init"      // CUBLAS_STATUS_NOT_INITIALIZED on creation of a handle
	CuDNNAlloc    Kind = "cudnn-alloc"      // CUDNN_STATUS_ALLOC_FAILED
	CuDNNOther    Kind = "cudnn-other"      // NOT_INITIALIZED, NOT_SUPPORTED, INTERNAL_ERROR: memory is one of the causes
	CuFFTAlloc    Kind = "cufft-alloc"      // CUFFT_ALLOC_FAILED
	CuSolverAlloc Kind = "cusolver-alloc"   // CUSOLVER_STATUS_ALLOC_FAILED, or its handle
	CuSparseAlloc Kind = "cusparse-alloc"   // CUSPARSE_STATUS_ALLOC_FAILED, INSUFFICIENT_RESOURCES
	NCCLAlloc     Kind = "nccl-alloc"       // NCCL's own buffers
	XLAExhausted  Kind = "xla-exhausted"    // JAX, XLA, TensorFlow
	OtherGPU      Kind = "other-gpu"        // CuPy, RMM, llama.cpp, bitsandbytes, Paddle, ONNX Runtime …
	VLLMBudget    Kind = "vllm-budget"      // the engine's share leaves nothing for the KV cache
	VLLMFree      Kind = "vllm-free"        // less free on the GPU than the engine's share
	KernelShared  Kind = "kernel-resources" // Triton: shared memory or registers of a kernel, not GPU memory

	HostAlloc  Kind = "host-alloc"    // malloc on the host failed
	HostPinned Kind = "host-pinned"   // pinned host memory
	OOMKiller  Kind = "oom-killer"    // the kernel, for the whole machine
	CgroupKill Kind = "cgroup-killer" // the kernel, for a container's or job's limit
	Sigkill    Kind = "sigkill"       // killed by signal 9, by whom is not said
	WorkerKill Kind = "worker-killed" // a DataLoader worker died by a signal
	SharedMem  Kind = "shared-memory" // /dev/shm is full
	RayMonitor Kind = "ray-monitor"   // Ray's own monitor of the host's memory
)

// Host reports whether a kind is about memory of the host.
func (k Kind) Host() bool {
	switch k {
	case HostAlloc, HostPinned, OOMKiller, CgroupKill, Sigkill, WorkerKill, SharedMem, RayMonitor:
		return true
	}
	return false
}

// pattern is a wording: text without white space that has all of the words, in this
// order, and none of not.
type pattern struct {
	kind Kind
	all  []string
	not  []string
	ok   func(text []byte, at int) bool // looks at what stands before the first word; may be nil
	read func(*Clue, *cursor)           // reads numbers after the first word; may be nil
}

// patterns are tried in this order. The wordings are those of the releases that
// printed them; sources are in testdata/README.md.
var patterns = []pattern{
	{kind: NVMLAssert, all: []string{"NVML_SUCCESS==", "INTERNALASSERTFAILED", "CachingAllocator"}},
	{kind: KernelShared, all: []string{"outofresource:"}, read: readResources},
	{kind: KernelShared, all: []string{"OutOfResources:"}},

	{kind: NCCLAlloc, all: []string{"FailedtoCUDAcalloc"}, read: readBytes},
	{kind: NCCLAlloc, all: []string{"FailedtoCUDAmalloc"}, read: readBytes},
	{kind: NCCLAlloc, all: []string{"Cudafailure", "'outofmemory'"}},
	{kind: SharedMem, all: []string{"creatingsharedmemorysegment"}, read: readSizeInBrackets},
	{kind: CuBLASAlloc, all: []string{"CUBLAS_STATUS_ALLOC_FAILED"}},
	{kind: CuBLASInit, all: []string{"CUBLAS_STATUS_NOT_INITIALIZED"}},
	{kind: CuDNNAlloc, all: []string{"CUDNN_STATUS_ALLOC_FAILED"}},
	{kind: CuDNNAlloc, all: []string{"CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"}},
	{kind: CuDNNOther, all: []string{"cuDNNerror:CUDNN_STATUS_NOT_INITIALIZED"}},
	{kind: CuDNNOther, all: []string{"cuDNNerror:CUDNN_STATUS_NOT_SUPPORTED"}},
	{kind: CuDNNOther, all: []string{"cuDNNerror:CUDNN_STATUS_INTERNAL_ERROR"}},
	{kind: CuFFTAlloc, all: []string{"CUFFT_ALLOC_FAILED"}},
	{kind: CuSolverAlloc, all: []string{"CUSOLVER_STATUS_ALLOC_FAILED"}},
	{kind: CuSolverAlloc, all: []string{"cusolvererror:CUSOLVER_STATUS_INTERNAL_ERROR", "cusolverDnCreate"}},
	{kind: CuSparseAlloc, all: []string{"CUSPARSE_STATUS_ALLOC_FAILED"}},
	{kind: CuSparseAlloc, all: []string{"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"}},

	{kind: HostPinned, all: []string{"pinnedhostmemoryofsize"}, read: readBytes},
	{kind: HostPinned, all: []string{"bytesonhost:CUDA_ERROR_OUT_OF_MEMORY"}},
	{kind: HostPinned, all: []string{"failedtoallocate", "ofpinnedmemory"}, read: readSize},
	{kind: HostPinned, all: []string{"cudaHostAlloc", "outofmemory"}},
	{kind: HostPinned, all: []string{"cudaHostRegister", "outofmemory"}},
	{kind: HostPinned, all: []string{"cuMemAllocHost", "OUT_OF_MEMORY"}},

	{kind: VLLMBudget, all: []string{"Noavailablememoryforthecacheblocks"}},
	{kind: VLLMFree, all: []string{"Freememoryondevice", "islessthandesiredGPUmemoryutilization("}, read: readVLLMFree},
	{kind: VLLMBudget, all: []string{"KVcacheisneeded,whichislargerthantheavailableKVcachememory("}, read: readVLLMNeed},
	{kind: VLLMBudget, all: []string{"thanthemaximumnumberoftokensthatcanbestoredinKVcache"}},
	{kind: VLLMBudget, all: []string{"Notenoughmemory.Pleasetrytoincrease--mem-fraction-static"}},

	{kind: HostAlloc, all: []string{"DefaultCPUAllocator:", "allocate"}, read: readBytes},
	{kind: HostAlloc, all: []string{"Unabletoallocate", "foranarraywithshape"}, read: readSize},
	{kind: HostAlloc, all: []string{"[Errno12]Cannotallocatememory"}},
	{kind: OtherGPU, all: []string{"std::bad_alloc:out_of_memory:"}},
	{kind: HostAlloc, all: []string{"std::bad_alloc"}},
	{kind: RayMonitor, all: []string{"killedduetothenoderunninglowonmemory"}},
	{kind: RayMonitor, all: []string{"exceedsthememoryusagethreshold"}},
	{kind: RayMonitor, all: []string{"Workers(tasks/actors)killedduetomemorypressure(OOM)"}, ok: notZero},

	{kind: CgroupKill, all: []string{"Memorycgroupoutofmemory:Kill"}, read: readKilled},
	{kind: OOMKiller, all: []string{"Outofmemory:Kill"}, read: readKilled},
	{kind: CgroupKill, all: []string{"oom-kill:constraint=CONSTRAINT_MEMCG"}, read: readConstraint},
	{kind: OOMKiller, all: []string{"oom-kill:constraint="}, read: readConstraint},
	{kind: CgroupKill, all: []string{"oom_killevent"}},
	{kind: CgroupKill, all: []string{"oom-killevent"}},
	{kind: CgroupKill, all: []string{"srun:error:", "OutOfMemory"}},
	{kind: CgroupKill, all: []string{"Exceededjobmemorylimit"}},
	{kind: CgroupKill, all: []string{"OOMKilled"}, not: []string{`"OOMKilled":false`, "OOMKilled:false", "OOMKilled=false"}},
	{kind: OOMKiller, all: []string{"killedbytheOOMkiller"}},
	{kind: OOMKiller, all: []string{"systemd-oomd", "Killed"}},

	{kind: SharedMem, all: []string{"insufficientsharedmemory(shm)"}},
	{kind: SharedMem, all: []string{"killedbysignal:Buserror"}},
	{kind: SharedMem, all: []string{"unabletoallocatesharedmemory(shm)"}},
	{kind: WorkerKill, all: []string{"DataLoaderworker(pid", "killedbysignal:Killed"}, read: readWorker},
	{kind: WorkerKill, all: []string{"DataLoaderworker(pid", "exitedunexpectedly"}, read: readWorker},

	{kind: XLAExhausted, all: []string{"RESOURCE_EXHAUSTED:", "emory"}, read: readBytes},
	{kind: XLAExhausted, all: []string{"Resourceexhausted:", "emory"}, read: readBytes},
	{kind: XLAExhausted, all: []string{"OOMwhenallocatingtensor"}},
	{kind: OtherGPU, all: []string{"ResourceExhaustedError:"}},
	{kind: OtherGPU, all: []string{"cudaMallocfailed:outofmemory"}},
	{kind: OtherGPU, all: []string{"cupy.cuda.memory.OutOfMemoryError"}, read: readBytes},
	{kind: OtherGPU, all: []string{"Erroroutofmemoryatline"}},
	{kind: OtherGPU, all: []string{"cudafailedwitherror2outofmemory"}},
	{kind: OtherGPU, all: []string{"Failedtoallocatememoryforrequestedbufferofsize"}, read: readPlainBytes},
	{kind: OtherGPU, all: []string{"CUDAerror2at", "outofmemory"}},
	{kind: DriverError, all: []string{"CUDAdrivererror:outofmemory"}},
	{kind: DriverError, all: []string{"CUDA_ERROR_OUT_OF_MEMORY"}},
	{kind: CUDAError, all: []string{"CUDAerror:outofmemory"}},
	{kind: CUDAError, all: []string{"cudaErrorMemoryAllocation"}, not: []string{"Searchfor`cudaErrorMemoryAllocation"}},
	{kind: HIPError, all: []string{"HIPerror:outofmemory"}},
	{kind: HIPError, all: []string{"hipErrorOutOfMemory"}},

	{kind: Sigkill, all: []string{"diedwith<Signals.SIGKILL:9>"}},
	{kind: Sigkill, all: []string{"Signal9(SIGKILL)"}, read: readSigkillPID},
	{kind: Sigkill, all: []string{"exitcode:-9"}, read: readPID},
	{kind: Sigkill, all: []string{"signalSIGKILL"}},
	{kind: Sigkill, all: []string{"exitcode:137"}},
	{kind: Sigkill, all: []string{"exitcode137"}},
	{kind: Sigkill, all: []string{`ExitCode":137`}},
	{kind: Sigkill, all: []string{"exitstatus137"}},
	{kind: Sigkill, all: []string{"withcode137"}},
	{kind: Sigkill, all: []string{"ExitCode:137"}},
	{kind: HostAlloc, all: []string{"MemoryError"}, not: []string{"OutOfMemoryError", "GPUMemoryError"}},
}

// clueSearch finds the first words of the patterns, so that a line without any costs
// one pass.
var clueSearch = newSkipper(firstWords())

// clueStarts has what is left of a first word where a line was wrapped within it.
var clueStarts = startsOf(firstWords())

func startsOf(list []string) map[string]struct{} {
	m := map[string]struct{}{}
	for _, w := range list {
		for n := minStart; n < len(w); n++ {
			m[w[:n]] = struct{}{}
		}
	}
	return m
}

// minStart is how much of a word has to be left to be taken for its start.
const minStart = 3

// mayBegin reports whether a message of the table, or one of the allocator, may
// begin in a line without white space and go on in the next.
func mayBegin(line []byte) bool {
	for n := minStart; n <= len(line) && n < 64; n++ {
		if _, ok := clueStarts[string(line[len(line)-n:])]; ok {
			return true
		}
	}
	return clueSearch.find(line) >= 0 || mayAnchor(line)
}

// mayEnd reports whether a line begins with all but a letter or two of a first word,
// too little for mayBegin to know the start by.
func mayEnd(line []byte) bool {
	for i := range patterns {
		w := patterns[i].all[0]
		for n := 1; n < minStart; n++ {
			if bytes.HasPrefix(line, []byte(w[n:])) {
				return true
			}
		}
	}
	return false
}

func firstWords() []string {
	var list []string
	for i := range patterns {
		if w := patterns[i].all[0]; !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// maxClueText bounds the line that a clue keeps.
const maxClueText = 300

// clue reads a message of the table in line i, which may be wrapped into the next.
func (s *scanner) clue(v *view, i int) int {
	line := squeeze(nil, v.lines[i].text)
	p, c := match(line, len(line))
	if e := &v.lines[i]; e.width >= minTerminal && e.width < maxTerminal && (v.wrapped || mayBegin(line)) {
		j := v.joinWrapped(i, 3)
		if q, d := match(j.text, j.ends[0]); q < p || q == p && c != nil && c.less(d) {
			p, c = q, d
		}
	}
	if c == nil {
		if c = bareKilled(v.lines[i].text); c == nil {
			return 0
		}
	}
	s.addClue(v, i, c)
	return 1
}

func newClue(k Kind) *Clue { return &Clue{Kind: k, GPU: -1, User: -1, Source: Source{Rank: -1}} }

// less reports whether d read numbers that c lacks, from the lines below.
func (c *Clue) less(d *Clue) bool {
	return !c.Size.Known() && d.Size.Known() || !c.Used.Known() && d.Used.Known() || !c.Limit.Known() && d.Limit.Known() ||
		c.Source.PID == 0 && d.Source.PID != 0
}

// match finds the first pattern in text of which the first word begins before the
// end of the first line, and returns its place in the table.
func match(text []byte, firstLine int) (int, *Clue) {
	if clueSearch.find(text) < 0 {
		return len(patterns), nil
	}
	for k := range patterns {
		p := &patterns[k]
		at := bytes.Index(text, []byte(p.all[0]))
		if at < 0 || at >= firstLine || !p.rest(text, at+len(p.all[0])) || splitsNumber(text, at+len(p.all[0])) || p.ok != nil && !p.ok(text, at) {
			continue
		}
		c := newClue(p.kind)
		if p.kind == NCCLAlloc {
			c.GPU = ncclDevice(text)
		}
		if p.read != nil {
			p.read(c, &cursor{b: text, i: at + len(p.all[0])})
		}
		return k, c
	}
	return len(patterns), nil
}

// notZero reports whether a count other than 0 stands before offset at.
func notZero(text []byte, at int) bool {
	return at > 0 && isDigit(text[at-1]) && (text[at-1] != '0' || at > 1 && isDigit(text[at-2]))
}

// splitsNumber reports whether a word that ends in a digit was found in a longer
// number: exit code 1370 is not 137.
func splitsNumber(text []byte, end int) bool {
	return end < len(text) && isDigit(text[end-1]) && isDigit(text[end])
}

func (p *pattern) rest(text []byte, at int) bool {
	for _, w := range p.all[1:] {
		n := bytes.Index(text[at:], []byte(w))
		if n < 0 {
			return false
		}
		at += n + len(w)
	}
	for _, w := range p.not {
		if bytes.Contains(text, []byte(w)) {
			return false
		}
	}
	return true
}

// bareKilled recognises what shells print: "Killed", "line 28:  8156 Killed
// python3 main.py", "[1]    8156 killed     python train.py".
func bareKilled(text []byte) *Clue {
	if !bytes.Contains(text, []byte("illed")) {
		return nil
	}
	f := strings.Fields(string(text[:min(len(text), 400)]))
	for i, w := range f {
		if w != "Killed" && w != "killed" {
			continue
		}
		if len(f) == 1 {
			return newClue(Sigkill)
		}
		if i > 0 && allDigits(f[i-1]) && (i == 1 || strings.HasSuffix(f[i-2], ":") || strings.HasSuffix(f[i-2], "]") || f[i-2] == "+" || f[i-2] == "-") {
			c := newClue(Sigkill)
			c.Process = strings.Join(f[i+1:], " ")
			c.Source.PID, _ = strconv.Atoi(f[i-1])
			return c
		}
		return nil
	}
	return nil
}

func (s *scanner) addClue(v *view, i int, c *Clue) {
	e := &v.lines[i]
	c.Source = merge(e.src, c.Source)
	c.Time, c.Line, c.Count = e.time, s.lineNumber(e.at), 1
	c.Text = clip(string(bytes.TrimSpace(trimPanel(e.text))), maxClueText)
	id := "\x03" + string(c.Kind) + c.Size.Text + c.Process
	kill := (c.Kind == OOMKiller || c.Kind == CgroupKill) && c.Source.PID != 0
	if kill {
		id += strconv.Itoa(c.Source.PID)
	}
	if k, ok := s.lookUp(e.key, id); ok {
		s.rep.Clues[k].repeat(c, kill)
		s.seen[e.key+"\x01"+id] = k
		return
	}
	if len(s.rep.Clues) >= s.opt.MaxFindings {
		s.rep.Dropped++
		return
	}
	if !c.Kind.Host() || c.Kind == HostAlloc || c.Kind == HostPinned {
		c.Frames = s.traceback(v, i)
		c.User = userFrame(c.Frames)
	}
	s.remember(e.key, id, len(s.rep.Clues))
	s.rep.Clues = append(s.rep.Clues, *c)
}

// repeat counts an equal clue. The kernel writes two lines about one kill, of which
// the second has the sizes.
func (c *Clue) repeat(again *Clue, kill bool) {
	c.LastLine = again.Line
	if !kill {
		c.Count++
		return
	}
	if again.Used.Known() && !c.Used.Known() {
		c.Used, c.Text = again.Used, again.Text
	}
}

// clip cuts s to at most n bytes, at the start of a character.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// readBytes reads the first "N bytes" within reach.
func readBytes(c *Clue, t *cursor) {
	for n := 0; t.i < len(t.b) && n < 120; n++ {
		if isDigit(t.b[t.i]) {
			if v, ok := t.long(); ok && (t.lit("bytes") || t.lit("GB.Buy")) {
				c.Size = exactSize(strconv.FormatInt(v, 10)+" bytes", v)
				return
			}
			continue
		}
		t.i++
	}
}

// readPlainBytes reads a number that directly follows.
func readPlainBytes(c *Clue, t *cursor) {
	if v, ok := t.long(); ok {
		c.Size = exactSize(strconv.FormatInt(v, 10)+" bytes", v)
	}
}

// readSize reads a size with its unit.
func readSize(c *Clue, t *cursor) {
	if s, ok := t.size(); ok {
		c.Size = s
	}
}

// readSizeInBrackets reads "…(size 5967872)".
func readSizeInBrackets(c *Clue, t *cursor) {
	if t.until("(size", 120) {
		readPlainBytes(c, t)
	}
}

// readResources reads "shared memory, Required: 98304, Hardware limit: 65536".
func readResources(c *Clue, t *cursor) {
	if t.until("Required:", 60) {
		readPlainBytes(c, t)
	}
	if t.until(":", 40) {
		if v, ok := t.long(); ok {
			c.Limit = exactSize(strconv.FormatInt(v, 10)+" bytes", v)
		}
	}
}

// readVLLMFree reads "cuda:0 (19.77/22.05 GiB) on startup is less than desired GPU
// memory utilization (0.9, 19.84 GiB)".
func readVLLMFree(c *Clue, t *cursor) {
	if t.lit("cuda:") {
		c.GPU, _ = t.integer()
	}
	if !t.lit("(") {
		return
	}
	free, total := t.i, 0
	if n := bytes.IndexByte(t.b[t.i:min(len(t.b), t.i+16)], '/'); n > 0 {
		total = t.i + n + 1
	}
	if total == 0 {
		return
	}
	t.i = total
	c.Limit, _ = t.size()
	f, _ := parseSize(append(append([]byte{}, t.b[free:total-1]...), "GiB"...), nearest)
	if f.Known() && c.Limit.Known() {
		used, _ := c.Limit.Sub(f)
		c.Used = Size{Text: "difference", Bytes: used.Bytes, Low: max(used.Low, 0), High: max(used.High, 0)}
	}
	if t.until("utilization(", 80) && t.until(",", 8) {
		c.Size, _ = t.size()
	}
}

// readVLLMNeed reads the sizes before and after the words.
func readVLLMNeed(c *Clue, t *cursor) {
	c.Limit, _ = t.size()
}

// readKilled reads "ed process 7899 (python) total-vm:26184840kB, anon-rss:15370088kB"
// and the older "Kill process 31490 (corerun) score 897 or sacrifice child".
func readKilled(c *Clue, t *cursor) {
	t.lit("ed")
	if !t.lit("process") {
		return
	}
	c.Source.PID, _ = t.integer()
	if t.lit("(") {
		n := t.i
		if t.until(")", 40) {
			c.Process = string(t.b[n : t.i-1])
		}
	}
	if t.until("anon-rss:", 80) {
		c.Used, _ = t.size()
	}
}

// readConstraint reads "task=python,pid=7899" of the kernel's one-line report.
func readConstraint(c *Clue, t *cursor) {
	if t.until("task=", 400) {
		n := t.i
		if t.until(",pid=", 40) {
			c.Process = string(t.b[n : t.i-len(",pid=")])
			c.Source.PID, _ = t.integer()
		}
	}
}

// readWorker reads the process id of a DataLoader worker.
func readWorker(c *Clue, t *cursor) {
	t.lit("(s)")
	c.Source.PID, _ = t.integer()
}

// readPID reads "local_rank: 5 (pid: 2630)", as torchrun reports a dead process.
func readPID(c *Clue, t *cursor) {
	t.lit(")")
	if t.lit("local_rank:") {
		if r, ok := t.integer(); ok {
			c.Source.Rank = r
		}
	}
	if t.lit("(pid:") {
		c.Source.PID, _ = t.integer()
	}
}

// readSigkillPID reads "received by PID 2630".
func readSigkillPID(c *Clue, t *cursor) {
	if t.until("PID", 24) {
		c.Source.PID, _ = t.integer()
	}
}

// ncclDevice reads the device from "host:9621:9688 [3] include/alloc.h:178 NCCL WARN".
func ncclDevice(text []byte) int {
	n := bytes.Index(text, []byte("NCCLWARN"))
	if n < 0 {
		return -1
	}
	open := bytes.IndexByte(text[:n], '[')
	if open < 0 {
		return -1
	}
	c := &cursor{b: text, i: open + 1}
	if gpu, ok := c.integer(); ok && c.lit("]") {
		return gpu
	}
	return -1
}

// long takes a number without sign, of at most 18 digits.
func (c *cursor) long() (int64, bool) {
	n := c.i
	for n < len(c.b) && isDigit(c.b[n]) {
		n++
	}
	digits := string(c.b[c.i:n])
	c.i = n
	v, err := strconv.ParseInt(digits, 10, 64)
	return v, err == nil && len(digits) <= 18
}
