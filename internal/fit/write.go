package fit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/ullage-dev/ullage/snapshot"
)

// actionNames are PyTorch's names of what a predicted recording has.
var actionNames = map[snapshot.Action]string{
	snapshot.Alloc: "alloc", snapshot.FreeRequested: "free_requested", snapshot.FreeCompleted: "free_completed", snapshot.OOM: "oom",
	snapshot.SegmentAlloc: "segment_alloc", snapshot.SegmentFree: "segment_free", snapshot.SegmentMap: "segment_map", snapshot.SegmentUnmap: "segment_unmap",
}

// stateNames are its names of a block's states.
var stateNames = map[snapshot.BlockState]string{
	snapshot.Inactive: "inactive", snapshot.Allocated: "active_allocated", snapshot.PendingFree: "active_pending_free",
}

// WriteRecording writes a recording of one device as JSON, with the keys of PyTorch's
// _snapshot(), which package snapshot reads: docs/formats/recording.md. A prediction knows no
// times: events are a microsecond apart, since those without any are taken to be of
// PyTorch before 2.2.
func WriteRecording(w io.Writer, rec *snapshot.Recording) error {
	out := &recordingWriter{w: bufio.NewWriter(w), rec: rec, stacks: make(map[snapshot.StackID][]byte)}
	dev := rec.Devices[0]
	out.printf(`{"segments":[`)
	for i := range dev.Segments {
		out.segment(dev, &dev.Segments[i], i > 0)
	}
	out.printf(`],"device_traces":[`)
	for range dev.Index {
		out.printf(`[],`)
	}
	out.printf(`[`)
	for i := range dev.Events.Len() {
		out.event(dev.Events.At(i), i)
	}
	out.printf(`]],"allocator_settings":`)
	out.settings(rec.Settings)
	out.printf("}\n")
	if out.err != nil {
		return out.err
	}
	return out.w.Flush()
}

// recordingWriter keeps the first error, and the text of each stack.
type recordingWriter struct {
	w      *bufio.Writer
	rec    *snapshot.Recording
	stacks map[snapshot.StackID][]byte
	err    error
}

func (o *recordingWriter) printf(format string, args ...any) {
	if o.err == nil {
		_, o.err = fmt.Fprintf(o.w, format, args...)
	}
}

func comma(more bool) string {
	if more {
		return ",\n"
	}
	return ""
}

// frames returns a stack as JSON.
func (o *recordingWriter) frames(id snapshot.StackID) []byte {
	if text, ok := o.stacks[id]; ok {
		return text
	}
	type frame struct {
		Name     string `json:"name"`
		Filename string `json:"filename"`
		Line     int    `json:"line"`
	}
	list := []frame{}
	for _, f := range o.rec.Stacks.Frames(id) {
		at := o.rec.Frames[f]
		list = append(list, frame{at.Name, at.Filename, at.Line})
	}
	text, err := json.Marshal(list)
	if err != nil {
		text = []byte("[]") // strings and numbers always can be written
	}
	o.stacks[id] = text
	return text
}

func (o *recordingWriter) event(e snapshot.Event, ordinal int) {
	key := "addr"
	if e.Action == snapshot.OOM {
		key = "device_free"
	}
	o.printf(`%s{"action":%q,%q:%d,"size":%d,"stream":%d,"time_us":%d,"frames":%s}`,
		comma(ordinal > 0), actionNames[e.Action], key, e.Addr, e.SizeBytes, o.rec.Streams[e.Stream], ordinal+1, o.frames(e.Stack))
}

func (o *recordingWriter) segment(dev *snapshot.Device, s *snapshot.Segment, more bool) {
	kind := "large"
	if s.Kind == snapshot.SmallSegment {
		kind = "small"
	}
	o.printf(`%s{"device":%d,"address":%d,"total_size":%d,"allocated_size":%d,"active_size":%d,"requested_size":%d,"stream":%d,"segment_type":%q,"segment_pool_id":[0,0],"is_expandable":%t,"frames":[],"blocks":[`,
		comma(more), dev.Index, s.Addr, s.SizeBytes, s.AllocatedBytes, s.ActiveBytes, s.RequestedBytes, o.rec.Streams[s.Stream], kind, s.Expandable)
	for i := range s.NumBlocks {
		b := &dev.Blocks[s.FirstBlock+i]
		o.printf(`%s{"address":%d,"size":%d,"requested_size":%d,"state":%q,"frames":%s}`, comma(i > 0), b.Addr, b.SizeBytes, b.RequestedBytes, stateNames[b.State], o.frames(b.Stack))
	}
	o.printf(`]}`)
}

func (o *recordingWriter) settings(s *snapshot.Settings) {
	divisions := map[string]int{}
	for i, d := range s.RoundupDivisions {
		divisions[fmt.Sprint(1<<i)] = d
	}
	conf, _ := json.Marshal(s.Conf) // a string always can be written
	table, _ := json.Marshal(divisions)
	o.printf(`{"PYTORCH_CUDA_ALLOC_CONF":%s,"max_split_size":%d,"garbage_collection_threshold":%v,"expandable_segments":%t,"pinned_num_register_threads":1,"roundup_power2_divisions":%s}`,
		conf, s.MaxSplitBytes, s.GCThreshold, s.ExpandableSegments, table)
}
