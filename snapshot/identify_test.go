package snapshot

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

// Beginnings of files as their writers make them.
const (
	torchZipHead  = "PK\x03\x04\x00\x00\x08\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00\x13\x00archive/data.pkl" + "FB\x0f\x00ZZZ"
	npzHead       = "PK\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00arr_0.npy"
	otherZipHead  = "PK\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0f\x00\x00\x00snapshot.pickle\x8c"
	legacyTorch   = "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."
	stateDict2    = "\x80\x02ccollections\nOrderedDict\nq\x00)Rq\x01(X\x06\x00\x00\x00weightctorch._utils\n_rebuild_tensor_v2\n"
	stateDict4    = "\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00\x8c\x0bcollections\x94\x8c\x0bOrderedDict\x94\x93\x94)R\x94."
	checkpoint2   = "\x80\x02}q\x00(X\x05\x00\x00\x00epochq\x01K\x03X\x05\x00\x00\x00modelq\x02ctorch._utils\n_rebuild_tensor_v2\nq\x03"
	numpyPickle   = "\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00\x8c\x16numpy._core.multiarray\x94\x8c\x0c_reconstruct\x94\x93"
	plainPickle   = "\x80\x04\x95\x14\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x04loss\x94K\x01\x8c\x02lr\x94K\x02u."
	recording4    = "\x80\x04\x95\x00\x10\x00\x00\x00\x00\x00\x00}\x94(\x8c\x08segments\x94]\x94}\x94(\x8c\x06device\x94K\x00"
	recording2    = "\x80\x02}q\x00(X\x08\x00\x00\x00segmentsq\x01]q\x02}q\x03(X\x06\x00\x00\x00deviceq\x04K\x00"
	tracesFirst   = "\x80\x05\x95\x00\x10\x00\x00\x00\x00\x00\x00}\x94(\x8c\x0ddevice_traces\x94]\x94]\x94}\x94("
	segmentsAlone = "\x80\x04\x95\x00\x10\x00\x00\x00\x00\x00\x00]\x94(}\x94(\x8c\x06device\x94K\x00\x8c\x07address\x94"
	statsJSON     = `{"active.all.allocated": 1, "active_bytes.all.current": 2, "allocated_bytes.all.current": 3, "num_ooms": 0, "reserved_bytes.all.peak": 9}`
	statsNested   = `{"active_bytes": {"all": {"current": 1}}, "allocated_bytes": {"all": {}}, "num_ooms": 0, "reserved_bytes": {}}`
	kineto        = "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\"id\": 0, \"name\": \"NVIDIA H200\"}],\n  \"traceEvents\": [\n  {\"ph\": \"X\""
	chromeList    = `[{"name":"aten::mm","ph":"X","ts":1,"dur":2,"pid":0,"tid":0},{"name":"x"`
	rawTimeline   = `[[1700000000000000, 1, 1024, 0], [1700000000000001, 2, 512, 3], [1700000`
	timelineJSON  = `[[1700000000000000, 1700000000000001, 1700000000000002, 1700000000000003, 1700000000000004, 17`
)

// identifyTests is also where the fuzz target gets its seeds.
var identifyTests = []struct {
	name, head string
	content    Content
	what, hint string
}{
	{"empty", "", ContentEmpty, "an empty file", "full disk"},
	{"zeros", strings.Repeat("\x00", 4096), ContentEmpty, "nothing but zeros", "never reached the disk"},
	{"recording, protocol 4", recording4, ContentPickle, "a pickle", ""},
	{"recording, protocol 2", recording2, ContentPickle, "a pickle", ""},
	{"recording, traces first", tracesFirst, ContentPickle, "a pickle", ""},
	{"segments alone", segmentsAlone, ContentPickle, "a pickle", ""},
	{"code, protocol 0", "cos\nsystem\n(S'id'\ntR.", ContentForeign, "a pickle of Python objects (\"os.system\")", howToRecord},
	{"a text like it", "config\nloaded\n(from a file)\n", ContentText, "text", ""},
	{"recording, protocol 0", "(dp0\nVsegments\np1\n(lp2\ns.", ContentPickle, "a pickle", ""},
	{"recording within a dict", "\x80\x02}U\x08snapshot}(U\x08segments]U\x0ddevice_traces]us.", ContentPickle, "a pickle", ""},
	{"recording within a list, JSON", `[{"device_traces": [], "segments": []}]`, ContentJSON, "JSON", ""},
	{"recording, two bytes", "\x80\x04", ContentPickle, "a pickle", ""},
	{"torch.save", torchZipHead, ContentForeign, "a PyTorch checkpoint (torch.save)", "holds weights"},
	{"torch.jit.save", strings.Replace(torchZipHead, "FB", "archive/code/__torch__.py", 1), ContentForeign, "TorchScript", "holds weights"},
	{"torch.save before 1.6", legacyTorch, ContentForeign, "before torch 1.6", "holds weights"},
	{"state dict, protocol 2", stateDict2, ContentForeign, "probably a state dict", "holds weights"},
	{"state dict, protocol 4", stateDict4, ContentForeign, "probably a state dict", "holds weights"},
	{"checkpoint as pickle", checkpoint2, ContentForeign, "a pickle of PyTorch tensors", "holds weights"},
	{"NumPy pickle", numpyPickle, ContentForeign, "NumPy", "_dump_snapshot"},
	{"pickle of a dict", plainPickle, ContentForeign, `a pickle of a dict with the keys "loss", "lr"`, "_dump_snapshot"},
	{"npz", npzHead, ContentForeign, "NumPy arrays (.npz)", ""},
	{"npy", "\x93NUMPY\x01\x00v\x00{'descr'", ContentForeign, "a NumPy array", ""},
	{"zip", otherZipHead, ContentForeign, `a zip archive, of which the first file is "snapshot.pickle"`, "unpack it"},
	{"safetensors", "\x88\x01\x00\x00\x00\x00\x00\x00{\"__metadata__\":{\"format\":\"pt\"},", ContentForeign, "safetensors", "weights"},
	{"GGUF", "GGUF\x03\x00\x00\x00", ContentForeign, "GGUF", "weights"},
	{"HDF5", "\x89HDF\r\n\x1a\n\x00\x00", ContentForeign, "HDF5", ""},
	{"SQLite", "SQLite format 3\x00\x10\x00", ContentForeign, "SQLite", "profiler"},
	{"ELF", "\x7fELF\x02\x01\x01\x00", ContentForeign, "ELF", ""},
	{"Windows program", "MZ\x90\x00\x03\x00\x00\x00\x04\x00" + strings.Repeat("\x00", 80) + "PE\x00\x00", ContentForeign, "a Windows executable", ""},
	{"PNG", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", ContentForeign, "PNG", "give the file that the viewer was given"},
	{"PDF", "%PDF-1.7\n", ContentForeign, "PDF", ""},
	{"tar", "snap/rank0.pickle" + strings.Repeat("\x00", 240) + "ustar\x0000", ContentForeign, `a tar archive, of which the first file is "snap/rank0.pickle"`, "unpack"},
	{"LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", ContentForeign, "Git LFS pointer", "git lfs pull"},
	{"recording as JSON", `{"segments": [{"device": 0, "address": 1`, ContentJSON, "JSON", ""},
	{"segments as JSON", `[{"device": 0, "address": 140000, "total_size": 2097152, "blocks": [{"si`, ContentJSON, "JSON", ""},
	{"JSON after a byte order mark", "\xef\xbb\xbf{\"device_traces\": [[]]}", ContentJSON, "JSON", ""},
	{"other JSON", `{"epoch": 1, "loss": 0.5}`, ContentJSON, `JSON with the keys "epoch", "loss"`, "_dump_snapshot"},
	{"memory_stats", statsJSON, ContentStats, "memory_stats", ""},
	{"memory_stats, nested", statsNested, ContentStats, "memory_stats", ""},
	{"Kineto", kineto, ContentForeign, "PyTorch profiler", "allocator's segments"},
	{"Chrome trace as a list", chromeList, ContentForeign, "PyTorch profiler", ""},
	{"export_memory_timeline raw", rawTimeline, ContentForeign, "export_memory_timeline (raw.json)", ""},
	{"export_memory_timeline", timelineJSON, ContentForeign, "export_memory_timeline (json)", ""},
	{"JSON lines", `{"level":"info","msg":"step 1"}` + "\n" + `{"level":"error","msg":"CUDA out of memory."}` + "\n", ContentText, "text", ""},
	{"printed dicts", "{'loss': 2.31, 'epoch': 0.1}\n{'loss': 2.1}\n", ContentText, "text", ""},
	{"dates in brackets", "[2026-01-31 12:00:00,123] [ERROR] CUDA out of memory.\n", ContentText, "text", ""},
	{"log", "step 1\nTraceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory. Tried", ContentText, "text", ""},
	{"colours", "\x1b[31mERROR\x1b[0m CUDA out of memory\r\n", ContentText, "text", ""},
	{"Latin-1 in a log", "caf\xe9: CUDA out of memory. Tried to allocate 20.00 MiB\n", ContentText, "text", ""},
	{"blanks", " \r\n\t\n", ContentText, "nothing but blanks", ""},
	{"page", "<!DOCTYPE html>\n<html><head>", ContentHTML, "a web page", "_memory_viz"},
	{"page of torch", "\n<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\n", ContentHTML, "a web page", ""},
	{"flame graph", "<?xml version=\"1.0\"?><svg", ContentForeign, "SVG", "give the recording"},
	{"noise", "\x9c\x00\x81\x02\xff\xfe\x00\x01\x02\x03", ContentUnknown, "begins with the bytes 9c 00 81 02 ff fe 00 01", ""},
	{"noise like a pickle", "\x80\x04\xff\xff\xff\x00\x01", ContentUnknown, "binary data", ""},
}

func TestIdentify(t *testing.T) {
	for _, tt := range identifyTests {
		t.Run(tt.name, func(t *testing.T) {
			id := Identify([]byte(tt.head))
			if id.Content != tt.content || !strings.Contains(id.What, tt.what) || !strings.Contains(id.Advice, tt.hint) {
				t.Errorf("got %d, %q, hint %q", id.Content, id.What, id.Advice)
			}
		})
	}
}

// utf16Bytes encodes s as PowerShell does.
func utf16Bytes(s string, order binary.AppendByteOrder) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

func TestUTF16(t *testing.T) {
	text := "CUDA out of memory. Tried to allocate 20.00 MiB 😀\r\n" + strings.Repeat("é", 5000)
	for name, tt := range map[string]struct {
		in  []byte
		enc encoding
	}{
		"little, with mark":    {utf16Bytes("\ufeff"+text, binary.LittleEndian), utf16LE},
		"big, with mark":       {utf16Bytes("\ufeff"+text, binary.BigEndian), utf16BE},
		"little, without mark": {utf16Bytes(text, binary.LittleEndian), utf16LE},
		"big, without mark":    {utf16Bytes(text, binary.BigEndian), utf16BE},
		"UTF-8 with mark":      {[]byte("\ufeff" + text), utf8Text},
		"UTF-8":                {[]byte(text), utf8Text},
	} {
		id := Identify(tt.in)
		if id.Content != ContentText || id.encoding != tt.enc {
			t.Errorf("%s: content %d, encoding %d", name, id.Content, id.encoding)
		}
		got, err := io.ReadAll(iotest.OneByteReader(textReader(bytes.NewReader(tt.in), id.encoding)))
		if err != nil || string(got) != text {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(text))
		}
	}
	for in, want := range map[string]string{
		"\xff\xfea\x00\x3d\xd8":         "a\ufffd", // half of a pair at the end
		"\xff\xfe\x3d\xd8b\x00":         "\ufffdb", // half of a pair before a letter
		"\xff\xfea\x00b":                "a\ufffd", // half of a unit
		"\xff\xfe":                      "",
		"\xff\xfe\x00\xdea\x00\xff\xfe": "\ufffda\ufeff", // a mark is dropped at the start only
	} {
		got, err := io.ReadAll(textReader(strings.NewReader(in), utf16LE))
		if err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v; want %q", in, got, err, want)
		}
	}
}

func FuzzIdentify(f *testing.F) {
	for _, tt := range identifyTests {
		f.Add([]byte(tt.head))
	}
	f.Add(utf16Bytes("\ufeff{\"segments\": []}", binary.LittleEndian))
	f.Fuzz(func(t *testing.T, head []byte) {
		id := Identify(head)
		if id.What == "" || strings.ContainsAny(id.What, "\n\x1b\x00") {
			t.Errorf("a sentence that cannot be printed: %q", id.What)
		}
		if (id.Content == ContentEmpty) != (len(bytes.Trim(head, "\x00")) == 0) {
			t.Errorf("content %d for %d bytes", id.Content, len(head))
		}
		if id.Content == ContentText {
			if _, err := io.Copy(io.Discard, textReader(bytes.NewReader(head), id.encoding)); err != nil {
				t.Error(err)
			}
		}
	})
}

// BenchmarkIdentify: a folder of a thousand files is looked through in a second
// or two. Budget: 2 ms for a head of 64 KiB.
func BenchmarkIdentify(b *testing.B) {
	head := []byte(`{"segments": [`)
	for len(head) < IdentifyBytes {
		head = append(head, `{"device": 0, "address": 140000, "total_size": 2097152, "blocks": []},`...)
	}
	for b.Loop() {
		Identify(head[:IdentifyBytes])
	}
}

var leOrder = binary.LittleEndian
