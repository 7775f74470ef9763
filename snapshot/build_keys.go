package snapshot

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/value"
)

// dictKind is what a dict is, as its keys tell.
type dictKind uint8

const (
	otherDict dictKind = iota
	eventDict
	frameDict
	blockDict
	segmentDict
	tenantDict
	annotationDict
	recordingKeys
)

// where names a kind of dict in Recording.Unknown.
var where = [...]string{
	eventDict: "event key", frameDict: "frame key", blockDict: "block key", segmentDict: "segment key",
	tenantDict: "history key", annotationDict: "annotation key", recordingKeys: "top-level key",
}

// field is a key that a kind of dict is known to have.
type field uint8

const (
	noField field = iota // a key that is not known
	fAction
	fAddr
	fSize
	fStream
	fFrames
	fTime
	fCompile
	fMetadata
	fPool
	fForward
	fCppFrames
	fInternal
	fCategory

	fName
	fFilename
	fLine
	fFxTrace
	fFxNode
	fFxOp
	fIgnored // known, and of no use here

	fRequested
	fState
	fHistory

	fDevice
	fAllocated
	fActive
	fSegmentType
	fExpandable
	fBlocks

	fStage

	fSegments
	fTraces
	fSettings
	fAnnotations
	fOverflowed
	fMaxEntries
	fHostSegments
	fHostTraces
)

// fieldsOf lists the keys of each kind. Versions of torch differ in which they write.
var fieldsOf = map[dictKind]map[string]field{
	eventDict: {
		"action": fAction, "addr": fAddr, "device_free": fAddr, "size": fSize, "stream": fStream, "frames": fFrames,
		"time_us": fTime, "compile_context": fCompile, "user_metadata": fMetadata, "pool_id": fPool, "segment_pool_id": fPool,
		"forward_frames": fForward, "cpp_frames": fCppFrames, "internal_metadata": fInternal, "category": fCategory, "device": fIgnored,
	},
	frameDict: {
		"name": fName, "filename": fFilename, "line": fLine, "fx_original_trace": fFxTrace, "fx_node_name": fFxNode, "fx_node_op": fFxOp,
		"fx_node_target": fIgnored, "fx_node_info": fIgnored,
	},
	blockDict: {
		"address": fAddr, "addr": fAddr, "size": fSize, "requested_size": fRequested, "state": fState, "frames": fFrames,
		"history": fHistory, "forward_frames": fForward, "cpp_frames": fCppFrames, "user_metadata": fIgnored, "internal_metadata": fIgnored,
		"compile_context": fIgnored,
	},
	segmentDict: {
		"device": fDevice, "address": fAddr, "total_size": fSize, "allocated_size": fAllocated, "active_size": fActive,
		"requested_size": fRequested, "stream": fStream, "segment_type": fSegmentType, "segment_pool_id": fPool,
		"is_expandable": fExpandable, "frames": fFrames, "forward_frames": fForward, "cpp_frames": fCppFrames, "blocks": fBlocks,
		"user_metadata": fIgnored, "internal_metadata": fIgnored, "compile_context": fIgnored,
	},
	tenantDict:     {"addr": fAddr, "real_size": fSize, "frames": fFrames, "cpp_frames": fCppFrames},
	annotationDict: {"name": fName, "stage": fStage, "device": fDevice, "time_us": fTime},
	recordingKeys: {
		"segments": fSegments, "device_traces": fTraces, "allocator_settings": fSettings, "external_annotations": fAnnotations,
		"trace_alloc_overflowed": fOverflowed, "trace_alloc_max_entries": fMaxEntries,
		"host_segments": fHostSegments, "host_traces": fHostTraces,
	},
}

// kindsByKeys tells a dict's kind: the first row whose keys are all there.
var kindsByKeys = []struct {
	kind dictKind
	keys []string
}{
	{eventDict, []string{"action"}},
	{frameDict, []string{"filename", "line"}},
	{segmentDict, []string{"blocks", "total_size"}},
	{blockDict, []string{"state", "size"}},
	{tenantDict, []string{"real_size"}},
	{annotationDict, []string{"stage", "time_us"}},
	{recordingKeys, []string{"segments"}},
	{recordingKeys, []string{"device_traces"}},
	{recordingKeys, []string{"host_segments"}},
	{recordingKeys, []string{"host_traces"}},
}

// keySet is what is known about dicts with certain keys in a certain order. A
// recording has about ten, so a dict's keys are looked up once for all.
type keySet struct {
	keys   []value.Value
	kind   dictKind
	fields []field // by position of the key
	count  int     // dicts that had these keys
}

// last is the key that was read last.
func (k *keySet) last() field {
	if len(k.fields) == 0 {
		return noField
	}
	return k.fields[len(k.fields)-1]
}

// keySets finds the keySet of a dict.
type keySets struct {
	pool   *value.Pool
	recent [64]*keySet // by hash
	all    map[uint64][]*keySet
	n      int
}

// maxKeySets bounds how many different key sequences are remembered; dicts with
// yet other keys are classified each for itself, and their unknown keys not counted.
const maxKeySets = 4096

func (s *keySets) init(pool *value.Pool) {
	s.pool = pool
	s.all = map[uint64][]*keySet{}
}

func (s *keySets) of(items []value.Value) *keySet {
	recent := &s.recent[slot(items)]
	if k := *recent; k != nil && k.matches(items) {
		return k
	}
	h := uint64(len(items))
	for i := 0; i < len(items); i += 2 {
		h = h*0x9e3779b97f4a7c15 + uint64(items[i])
	}
	i := slices.IndexFunc(s.all[h], func(k *keySet) bool { return k.matches(items) })
	var k *keySet
	if i >= 0 {
		k = s.all[h][i]
	} else {
		k = s.classify(items)
		if s.n == maxKeySets {
			return k
		}
		s.n++
		s.all[h] = append(s.all[h], k)
	}
	*recent = k
	return k
}

// slot hashes the number of keys, the first and the last of them.
func slot(items []value.Value) uint64 {
	if len(items) == 0 {
		return 0
	}
	return (uint64(len(items)) + uint64(items[0])>>3*31 + uint64(items[len(items)-2])>>3*17) % 64
}

func (k *keySet) matches(items []value.Value) bool {
	if len(items) != 2*len(k.keys) {
		return false
	}
	for i, key := range k.keys {
		if items[2*i] != key {
			return false
		}
	}
	return true
}

func (s *keySets) classify(items []value.Value) *keySet {
	k := &keySet{keys: make([]value.Value, len(items)/2), fields: make([]field, len(items)/2)}
	has := map[string]bool{}
	for i := range k.keys {
		k.keys[i] = items[2*i]
		has[s.pool.Text(items[2*i])] = true
	}
	for _, row := range kindsByKeys {
		if !slices.ContainsFunc(row.keys, func(key string) bool { return !has[key] }) {
			k.kind = row.kind
			break
		}
	}
	known := fieldsOf[k.kind]
	for i, key := range k.keys {
		k.fields[i] = known[s.pool.Text(key)]
	}
	return k
}

// unknown calls f for every key that no version of the format is known to have,
// with how many dicts had it.
func (s *keySets) unknown(f func(where, name string, count int)) {
	for _, sets := range s.all {
		for _, k := range sets {
			for i, key := range k.keys {
				if k.kind != otherDict && k.fields[i] == noField && k.count > 0 {
					f(where[k.kind], s.pool.Text(key), k.count)
				}
			}
		}
	}
}
