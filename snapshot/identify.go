package snapshot

import (
	"bytes"
	"fmt"
	"strings"
)

// Content is what a file is, as far as its first bytes tell.
type Content uint8

// What a file can be. Only reading tells whether ContentPickle, ContentJSON and
// ContentHTML hold a recording.
const (
	ContentUnknown Content = iota
	ContentEmpty
	ContentPickle
	ContentJSON
	ContentHTML
	ContentText    // a log, an error message, memory_summary(): for the reader of texts
	ContentStats   // torch.cuda.memory_stats() as JSON: for the reader of texts too
	ContentForeign // something else that has a name
)

// Identity says what a file is.
type Identity struct {
	Content  Content
	What     string // for a person, with its article: "a PyTorch checkpoint"
	Advice   string // what to do instead, lower case; "" where there is nothing to say
	encoding encoding
	holds    holds
}

// holds is whether a file of a form that recordings come in is one, as far as its first
// bytes tell.
type holds uint8

const (
	mayHold  holds = iota // what follows may be one
	doesHold              // it begins as one
	holdsNot              // it is short, and was seen to its end
)

// NotRecordingError reports a file that is something else than a recording.
type NotRecordingError struct {
	Name     string // of the file; "" where it is not known
	Identity Identity
}

func (e *NotRecordingError) Error() string {
	s := "not a recording of GPU memory: this is " + e.Identity.What
	if e.Name != "" {
		s = e.Name + ": " + s
	}
	return s
}

// Hint is advice for the user, or "".
func (e *NotRecordingError) Hint() string { return e.Identity.Advice }

const (
	howToRecord = `record with torch.cuda.memory._record_memory_history(), and write torch.cuda.memory._dump_snapshot("snapshot.pickle")`

	checkpointHint = "a checkpoint holds weights, not the memory of a run; " + howToRecord
	profileHint    = "a profiler trace does not show the allocator's segments; " + howToRecord
	unpackHint     = "unpack it and give the file within"
)

// IdentifyBytes is how much of a file Identify can make use of.
const IdentifyBytes = sniffBytes

// Identify tells what a file is from its first bytes: IdentifyBytes of them, or
// the whole file if it is shorter. It is cheap and never fails.
func Identify(head []byte) Identity {
	for _, look := range []func([]byte) (Identity, bool){
		identifyNothing, identifyMagic, identifyZip, identifyTensors, identifyPickle, identifyText,
	} {
		if id, ok := look(head); ok {
			return id
		}
	}
	return Identity{What: fmt.Sprintf("binary data of an unknown kind, which begins with the bytes % x", head[:min(8, len(head))]), Advice: howToRecord}
}

func foreign(what, advice string) Identity {
	return Identity{Content: ContentForeign, What: what, Advice: advice}
}

func identifyNothing(head []byte) (Identity, bool) {
	switch {
	case len(head) == 0:
		return Identity{
			Content: ContentEmpty, What: "an empty file",
			Advice: "a process that is killed while it writes, or a full disk, leaves such a file: look whether the run's log has an error, and dump again",
		}, true
	case len(bytes.Trim(head, "\x00")) == 0:
		return Identity{
			Content: ContentEmpty, What: "a file that begins with nothing but zeros",
			Advice: "its data never reached the disk: copy the file again or dump again",
		}, true
	}
	return Identity{}, false
}

// magics are the kinds that a few bytes at the start tell.
var magics = []struct{ magic, what, advice string }{
	{"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "a PyTorch checkpoint in the format before torch 1.6", checkpointHint},
	{"\x93NUMPY", "a NumPy array (.npy)", howToRecord},
	{"\x89HDF\r\n\x1a\n", "an HDF5 file", howToRecord},
	{"GGUF", "model weights in GGUF", checkpointHint},
	{"SQLite format 3\x00", "an SQLite database, perhaps an export of Nsight Systems", profileHint},
	{"PAR1", "a Parquet file", ""},
	{"ARROW1", "an Arrow file", ""},
	{"\x7fELF", "an ELF executable, library or core dump", ""},
	{"MZ", "a Windows executable", ""},
	{"\xcf\xfa\xed\xfe", "a macOS executable", ""},
	{"\xca\xfe\xba\xbe", "a macOS or Java binary", ""},
	{"\x89PNG\r\n\x1a\n", "a PNG picture", "a picture of the memory viewer cannot be read: give the file that the viewer was given"},
	{"\xff\xd8\xff", "a JPEG picture", "a picture of the memory viewer cannot be read: give the file that the viewer was given"},
	{"GIF8", "a GIF picture", ""},
	{"%PDF-", "a PDF document", ""},
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", unpackHint},
	{"Rar!\x1a\x07", "a RAR archive", unpackHint},
	{"\x04\x22\x4d\x18", "LZ4-compressed data", "unpack it with lz4 -d and give the file within"},
	{"\x1f\x8b", "gzip data", ""}, // these four are seen only by callers that did not unpack
	{"\x28\xb5\x2f\xfd", "zstd data", ""},
	{"\xfd7zXZ\x00", "xz data", ""},
	{"BZh", "bzip2 data", ""},
	{"version https://git-lfs.github.com/spec/", "a Git LFS pointer; the file itself was not fetched", "run git lfs pull"},
	{"bplist00", "an Apple property list", ""},
}

func identifyMagic(head []byte) (Identity, bool) {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			if m.magic == "MZ" && !bytes.Contains(head[:min(4096, len(head))], []byte("PE\x00\x00")) {
				continue // a text may begin so
			}
			return foreign(m.what, m.advice), true
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return foreign("a tar archive, of which the first file is "+quoted(cString(head[:100])), unpackHint), true
	}
	return Identity{}, false
}

// identifyZip tells checkpoints, which torch.save writes as zip archives since
// 1.6, from others by the name of the first file within.
func identifyZip(head []byte) (Identity, bool) {
	name, ok := zipFirstName(head)
	switch {
	case !ok:
		return Identity{}, false
	case bytes.Contains(head, []byte("/constants.pkl")) || bytes.Contains(head, []byte("/code/")):
		return foreign("a TorchScript model (torch.jit.save)", checkpointHint), true
	case isTorchZip(name):
		return foreign("a PyTorch checkpoint (torch.save)", checkpointHint), true
	case strings.HasSuffix(name, ".npy"):
		return foreign("NumPy arrays (.npz)", howToRecord), true
	}
	return foreign("a zip archive, of which the first file is "+quoted(name), unpackHint), true
}

// identifyTensors knows safetensors by the JSON after its length.
func identifyTensors(head []byte) (Identity, bool) {
	if len(head) < 10 || head[8] != '{' || head[9] != '"' || head[5]|head[6]|head[7] != 0 {
		return Identity{}, false
	}
	return foreign("model weights in safetensors", checkpointHint), true
}

// quoted makes a name from a file harmless to print.
func quoted(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return fmt.Sprintf("%q", s)
}

func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
