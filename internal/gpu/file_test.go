package gpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// record writes readings of a fake, as ullage top --json does.
func record(t testing.TB, name string, n int) (text []byte, readings []Reading) {
	t.Helper()
	clock := newHandClock()
	p, err := openFake(name, NoMachine(clock))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for range n {
		r, err := p.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&out).Encode(r); err != nil {
			t.Fatal(err)
		}
		readings = append(readings, r)
		clock.advance(time.Second)
	}
	return out.Bytes(), readings
}

// TestFile: what was recorded comes back as it was, and the last reading stays.
func TestFile(t *testing.T) {
	for _, fake := range []string{"h200x2", "h100-mig", "t4-vgpu", "orin"} {
		text, want := record(t, fake, 3)
		path := filepath.Join(t.TempDir(), "gpus.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Open(t.Context(), "file:"+path, bare())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range append(want, want[2]) {
			got, err := p.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w, got); diff != "" {
				t.Errorf("%s (-recorded +played):\n%s", fake, diff)
			}
		}
	}
}

func TestFileBad(t *testing.T) {
	const device = `{"uuid":"a","kind":"gpu"}`
	for name, tt := range map[string]struct{ text, want string }{
		"empty":         {"", "reading 1: the file is empty"},
		"no JSON":       {"nonsense", "reading 1: invalid character"},
		"breaks off":    {`{"devices":[`, "reading 1: unexpected EOF"},
		"the second":    {"{}\n{\n", "reading 2: "},
		"no uuid":       {`{"devices":[{"kind":"gpu"}]}`, "devices[0] has no uuid"},
		"uuid twice":    {`{"devices":[` + device + `,` + device + `]}`, `devices[1]: uuid "a" is there twice`},
		"kind":          {`{"devices":[{"uuid":"a","kind":"tpu"}]}`, `kind "tpu" is none of`},
		"negative":      {`{"devices":[{"uuid":"a","kind":"gpu","memory":{"total_bytes":5,"used_bytes":-1,"free_bytes":6}}]}`, "a part has -1 of 5 bytes"},
		"no sum":        {`{"devices":[{"uuid":"a","kind":"gpu","memory":{"total_bytes":8589934592,"used_bytes":1,"free_bytes":6}}]}`, "add up to 7 bytes"},
		"instance":      {`{"devices":[{"uuid":"a","kind":"gpu","instances":[{"memory":{"used_bytes":1}}]}]}`, "instances[0]: memory"},
		"stray process": {`{"devices":[` + device + `],"processes":[{"pid":1,"device_uuid":"b"}]}`, `processes[0]: no device has the uuid "b"`},
		"process":       {`{"devices":[` + device + `],"processes":[{"pid":1,"device_uuid":"a","used_bytes":-5}]}`, "used_bytes is negative"},
	} {
		_, err := decodeReadings(strings.NewReader(tt.text))
		var bad *FormatError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func FuzzFile(f *testing.F) {
	text, _ := record(f, "h100-mig", 2)
	f.Add(text)
	f.Add([]byte(`{"devices":[{"uuid":"a","kind":"gpu"}],"processes":[{"pid":1,"device_uuid":"a"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		readings, err := decodeReadings(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, r := range readings {
			if err := r.check(); err != nil {
				t.Errorf("read, but %v", err)
			}
		}
	})
}
