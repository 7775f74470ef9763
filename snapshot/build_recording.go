package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/ullage-dev/ullage/internal/value"
)

// recordingDict is the outermost dict of a recording: where its parts are.
type recordingDict struct {
	segments, traces, settings, overflowed, maxEntries, hostSegments, hostTraces value.Value

	cutAt field // the last key that was read where the file breaks off within the dict; else 0
}

// cuts tells whether the file breaks off before a device's events are all read: the
// device is the one after the first n whose list of events ended, or a later one.
func (r *recordingDict) cuts(traces field, list value.Value, lists, device int) bool {
	switch {
	case r.cutAt == 0:
		return false
	case r.cutAt == traces:
		return device >= lists-1
	}
	return list == value.Nothing
}

func (b *builder) recording(k *keySet, items []value.Value) value.Value {
	var r recordingDict
	for i, f := range k.fields {
		switch v := items[2*i+1]; f {
		case fSegments:
			r.segments = v
		case fTraces:
			r.traces = v
		case fSettings:
			r.settings = v
		case fOverflowed:
			r.overflowed = v
		case fMaxEntries:
			r.maxEntries = v
		case fHostSegments:
			r.hostSegments = v
		case fHostTraces:
			r.hostTraces = v
		}
	}
	b.recordings = append(b.recordings, r)
	return object(objRecording, len(b.recordings)-1)
}

// annotation keeps an entry of external_annotations.
func (b *builder) annotation(k *keySet, items []value.Value) value.Value {
	var a Annotation
	for i, f := range k.fields {
		switch v := items[2*i+1]; f {
		case fName:
			a.Name = b.textOrNone(v)
		case fStage:
			a.Start = b.pool.Text(v) == "START"
		case fDevice:
			a.Device = b.small(v)
		case fTime:
			a.TimeUS = b.time(v)
		}
	}
	b.annotations = append(b.annotations, a)
	return object(objAnnotation, len(b.annotations)-1)
}

// finish makes the Recording of what was read; root is the outermost value. It
// reports whether there is a recording in it at all.
func (b *builder) finish(root value.Value) (*Recording, bool) {
	b.events.flush()
	b.events.sealer.stop()
	r, ok := b.locate(root)
	if !ok {
		return nil, false
	}
	rec := &Recording{
		Source:  Source{Rank: -1},
		Frames:  b.stacks.frames,
		Stacks:  b.stacks.stacks,
		Streams: b.events.streams,
		Labels:  b.events.labels,
	}
	rec.Settings = b.settings(r.settings)
	b.addDevices(rec, r)
	rec.Annotations = b.allAnnotations(rec)
	rec.Unknown = b.allUnknown()
	rec.Warnings = b.warnings()
	return rec, true
}

// abort ends what finish would have ended.
func (b *builder) abort() { b.events.sealer.stop() }

// locate finds the recording: the outermost value, or what it was wrapped in.
func (b *builder) locate(root value.Value) (recordingDict, bool) {
	var found []recordingDict
	b.search(root, 0, func(r recordingDict) { found = append(found, r) })
	if len(found) == 0 {
		return recordingDict{}, false
	}
	if len(found) > 1 {
		b.notes = append(b.notes, fmt.Sprintf("the file holds %d recordings; this is the first of them", len(found)))
	}
	return found[0], true
}

// maxWrapping is how deep within other containers a recording is looked for.
const maxWrapping = 8

func (b *builder) search(v value.Value, depth int, found func(recordingDict)) {
	kind, id := asObject(v)
	switch {
	case depth > maxWrapping || b.searched > maxTreeItems:
		return
	case kind == objRecording && b.sound(b.recordings[id]):
		found(b.recordings[id])
	case kind == objSegments:
		found(recordingDict{segments: v})
	case kind == objDict, kind == objList:
		for _, x := range b.tree.nodes[id] {
			b.searched++
			b.search(x, depth+1, found)
		}
	}
}

// sound tells a recording from other data that has a key "segments".
func (b *builder) sound(r recordingDict) bool {
	if len(b.traceLists(r.traces)) > 0 || len(b.traceLists(r.hostTraces)) > 0 {
		return true
	}
	for _, v := range []value.Value{r.segments, r.hostSegments} {
		if kind, _ := asObject(v); kind == objSegments || v == b.tree.empty() {
			return true
		}
	}
	return false
}

// traceLists returns the lists of events by device. Where there is only one list,
// without the list around it, it is the first device's.
func (b *builder) traceLists(v value.Value) []value.Value {
	if kind, _ := asObject(v); kind == objTrace {
		return []value.Value{v}
	}
	lists := b.tree.elements(v)
	for _, l := range lists {
		if kind, _ := asObject(l); kind != objTrace && l != b.tree.empty() {
			return nil
		}
	}
	return lists
}

func (b *builder) addDevices(rec *Recording, r recordingDict) {
	traces, hostTraces := b.traceLists(r.traces), b.traceLists(r.hostTraces)
	b.addKind(rec, GPU, b.memory.segmentsOf(r.segments), traces)
	b.addKind(rec, Host, b.memory.segmentsOf(r.hostSegments), hostTraces)
	slices.SortStableFunc(rec.Devices, func(x, y *Device) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Index, y.Index))
	})
	for _, dev := range rec.Devices {
		if dev.Kind == Host {
			dev.Cut = r.cuts(fHostTraces, r.hostTraces, len(hostTraces), dev.Index)
			continue
		}
		dev.Cut = r.cuts(fTraces, r.traces, len(traces), dev.Index)
		b.setRing(dev, r)
	}
}

// addKind adds the devices of one kind that have segments or events.
func (b *builder) addKind(rec *Recording, kind Kind, segments []segmentRow, traces []value.Value) {
	byIndex := map[int]*Device{}
	device := func(i int) *Device {
		if byIndex[i] == nil {
			byIndex[i] = &Device{Kind: kind, Index: i, Trace: -1, Events: &Events{Pools: []PoolID{{}}}}
			rec.Devices = append(rec.Devices, byIndex[i])
		}
		return byIndex[i]
	}
	positional := len(segments) == len(traces) // profile_plot: a segment a device, in their order
	for i, row := range segments {
		switch {
		case row.noDevice && positional:
			row.device = i
		case kind == Host:
			row.device = max(0, row.device) // -1 is the CPU
		}
		b.addSegment(device(row.device), row)
	}
	for i, list := range traces {
		if events, trace := b.events.eventsOf(list); events.Len() > 0 {
			dev := device(i)
			dev.Events, dev.Trace = events, trace
		}
	}
}

// setRing takes what newer versions say about the ring: one value for all devices or
// one a device, at the top level or in the settings.
func (b *builder) setRing(dev *Device, r recordingDict) {
	overflowed, maxEntries := r.overflowed, r.maxEntries
	items := b.tree.pairs(r.settings)
	for i := 0; i+1 < len(items); i += 2 {
		switch b.pool.Text(items[i]) {
		case "trace_alloc_overflowed":
			overflowed = items[i+1]
		case "trace_alloc_max_entries":
			maxEntries = items[i+1]
		}
	}
	dev.Overflowed = b.boolean(b.perDevice(overflowed, dev.Index))
	if v := b.perDevice(maxEntries, dev.Index); v != value.Nothing && v != value.None {
		n, _ := b.pool.Int64(v)
		dev.RingEntries = int(max(0, min(n, 1<<31-1)))
	}
}

// perDevice returns element i of a list, or the value itself where it is none.
func (b *builder) perDevice(v value.Value, i int) value.Value {
	switch kind, id := asObject(v); kind {
	case objPair:
		if i == 0 || i == 1 {
			return b.pool.Uint(b.events.pools[id][i])
		}
	case objList:
		if items := b.tree.elements(v); i >= 0 && i < len(items) {
			return items[i]
		}
	default:
		return v
	}
	return value.Nothing
}

// settings reads allocator_settings.
func (b *builder) settings(v value.Value) *Settings {
	if kind, _ := asObject(v); kind != objDict {
		return nil
	}
	s := &Settings{MaxSplitBytes: -1, Other: map[string]string{}}
	items := b.tree.pairs(v)
	for i := 0; i+1 < len(items); i += 2 {
		b.setting(s, b.text(items[i]), items[i+1])
	}
	return s
}

func (b *builder) setting(s *Settings, name string, v value.Value) {
	switch name {
	case "PYTORCH_CUDA_ALLOC_CONF":
		s.Conf = b.textOrNone(v)
	case "max_split_size":
		if n := b.integer(v); n >= 0 && n <= MaxSizeBytes {
			s.MaxSplitBytes = n
		}
	case "garbage_collection_threshold":
		s.GCThreshold, _ = b.pool.Float64(v)
	case "expandable_segments":
		s.ExpandableSegments = b.boolean(v)
	case "graph_capture_record_stream_reuse":
		s.GraphReuse = b.boolean(v)
	case "release_lock_on_cudamalloc":
		s.ReleaseLock = b.boolean(v)
	case "pinned_use_cuda_host_register":
		s.PinnedUseRegister = b.boolean(v)
	case "pinned_num_register_threads":
		s.PinnedThreads = b.small(v)
	case "roundup_power2_divisions":
		b.divisions(s, v)
	case "trace_alloc_overflowed", "trace_alloc_max_entries":
	default:
		s.Other[name] = b.textOrNone(v)
	}
}

// divisions reads {"1": n, "2": n, … "32768": n}, keyed by MiB.
func (b *builder) divisions(s *Settings, v value.Value) {
	items := b.tree.pairs(v)
	for i := 0; i+1 < len(items); i += 2 {
		mib, err := strconv.Atoi(b.text(items[i]))
		for p := range s.RoundupDivisions {
			if err == nil && mib == 1<<p {
				s.RoundupDivisions[p] = b.small(items[i+1])
			}
		}
	}
}

// allAnnotations adds torch 2.4's marks among the events to external_annotations.
func (b *builder) allAnnotations(rec *Recording) []Annotation {
	all := b.annotations
	for _, m := range b.events.marks {
		for _, dev := range rec.Devices {
			if dev.Trace == m.trace {
				m.Device = dev.Index
				all = append(all, m.Annotation)
			}
		}
	}
	return all
}

// allUnknown lists what was met and not known, in order of kind and name.
func (b *builder) allUnknown() []Unknown {
	b.keySets.unknown(func(where, name string, count int) {
		b.unknown[Unknown{Where: where, Name: name}] += count
	})
	var all []Unknown
	for u, n := range b.unknown {
		u.Count = n
		all = append(all, u)
	}
	slices.SortFunc(all, func(x, y Unknown) int {
		return cmp.Or(cmp.Compare(x.Where, y.Where), cmp.Compare(x.Name, y.Name))
	})
	return all
}

// warnings says what was odd.
func (b *builder) warnings() []string {
	all := append(b.notes, b.odd.warnings()...)
	if n := len(b.stacks.badUTF8); n > 0 {
		all = append(all, fmt.Sprintf("%d texts are not valid UTF-8; the bytes that are wrong are shown as U+FFFD", n))
	}
	if n := b.stacks.tooDeep; n > 0 {
		all = append(all, fmt.Sprintf("%d stacks are deeper than %d frames; their outer ends were left out", n, maxStackDepth))
	}
	if n := b.stacks.notFrame; n > 0 {
		all = append(all, fmt.Sprintf("%d stacks are not lists of frames; they were taken as empty", n))
	}
	return all
}
