package message

import (
	"bytes"
	"strconv"
)

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
		used, _ := c.Limit.sub(f)
		if used.High > 0 { // more free than there is says nothing
			c.Used = Size{Text: "difference", Bytes: max(used.Bytes, 0), Low: max(used.Low, 0), High: used.High}
		}
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
