package viewer

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/ullage-dev/ullage/internal/units"
)

// The exported page: docs/formats/view-api.md, "The exported page".

// dataMark is the place in the page where the answers go.
const dataMark = "<!--data-->"

// exportForm is the version of the form that the answers have in the page.
const exportForm = 1

// indexJSON says where the answers are in the data.
type indexJSON struct {
	Form     int                       `json:"form"`
	Made     string                    `json:"made"`
	Version  string                    `json:"version"`
	Redacted bool                      `json:"redacted"`
	MaxBytes int64                     `json:"max_bytes"`
	Answers  map[string][2]int         `json:"answers"`
	Tiles    map[string]map[string]int `json:"tiles"`
	LeftOut  []string                  `json:"left_out"`
}

// ExportOptions say how to write a page.
type ExportOptions struct {
	MaxBytes int64 // of the file
	Redacted bool  // the recordings were read without paths and names
}

// Exported is a page with its answers.
type Exported struct {
	Page    []byte
	LeftOut []string // what did not fit, a line each
}

// TooSmallError tells that not even the answers that are in every page fit.
type TooSmallError struct {
	NeedBytes, MaxBytes int64
}

func (e *TooSmallError) Error() string {
	return fmt.Sprintf("the page takes %s without any picture, which is more than the %s that it may take", units.FormatBytes(e.NeedBytes), units.FormatBytes(e.MaxBytes))
}

// export gathers the answers for a page.
type export struct {
	s     *Server
	opt   ExportOptions
	index indexJSON
	data  bytes.Buffer
	used  int64 // of the file, by what each part takes packed by itself: a little more than it takes beside the others
}

// Export makes the page. All files must have been loaded.
func (s *Server) Export(opt ExportOptions) (*Exported, error) {
	page, ok := s.assets.find(exportPage)
	before, after, found := bytes.Cut(page.plain, []byte(dataMark))
	if !ok || !found {
		return nil, fmt.Errorf("the page's files have no %s with the mark %s", exportPage, dataMark)
	}
	e := &export{s: s, opt: opt, used: int64(len(page.plain))}
	e.index = indexJSON{
		Form: exportForm, Made: s.cfg.Now().UTC().Format(time.RFC3339), Version: s.cfg.Version, Redacted: opt.Redacted, MaxBytes: opt.MaxBytes,
		Answers: map[string][2]int{}, Tiles: map[string]map[string]int{}, LeftOut: []string{},
	}
	if err := e.gather(); err != nil {
		return nil, err
	}
	out := new(bytes.Buffer)
	out.Write(before)
	if err := e.write(out); err != nil {
		return nil, err
	}
	out.Write(after)
	if n := int64(out.Len()); n > opt.MaxBytes {
		return nil, &TooSmallError{n, opt.MaxBytes}
	}
	return &Exported{out.Bytes(), e.index.LeftOut}, nil
}

// write writes the data as the page holds it.
func (e *export) write(out *bytes.Buffer) error {
	index, err := encode(e.index)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `<script id="ullage-data" type="text/plain" data-form="%d">`, exportForm)
	text := base64.NewEncoder(base64.StdEncoding, out)
	z, err := gzip.NewWriterLevel(text, gzip.BestCompression)
	if err != nil {
		return err
	}
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(index)))
	for _, part := range [][]byte{length, index, e.data.Bytes()} {
		z.Write(part) // a Buffer never fails
	}
	z.Close()
	text.Close()
	out.WriteString("</script>")
	return nil
}

// answer is a path below api and what it is answered.
type answer struct {
	path string
	body []byte
}

// ask answers a path as the server does.
func (e *export) ask(path string) (answer, error) {
	target, err := url.Parse("http://localhost" + api + path)
	if err != nil {
		return answer{}, err
	}
	w := recorder{header: http.Header{}}
	e.s.ServeHTTP(&w, &http.Request{Method: http.MethodGet, URL: target, Host: target.Host, Header: http.Header{}})
	if w.status != 0 && w.status != http.StatusOK {
		return answer{}, fmt.Errorf("%s: %s", path, bytes.TrimSpace(w.body.Bytes()))
	}
	return answer{path, w.body.Bytes()}, nil
}

// add puts answers into the page, all of them or, where there is no room, none.
func (e *export) add(list []answer) bool {
	size := packedSize(list)
	if e.used+size > e.opt.MaxBytes {
		return false
	}
	e.used += size
	for _, a := range list {
		e.index.Answers[a.path] = [2]int{e.data.Len(), len(a.body)}
		e.data.Write(a.body)
	}
	return true
}

// indexEntry is what an answer takes in the packed index, at most: its numbers hardly pack.
const indexEntry = 24

// packedSize is what answers take in the file when they are packed by themselves. A copy that
// packs twice as fast as that in the file takes about 1 % more.
func packedSize(list []answer) int64 {
	var n counter
	z, _ := gzip.NewWriterLevel(&n, gzip.DefaultCompression) // the level is one that there is
	for _, a := range list {
		z.Write(a.body) // a counter never fails
	}
	z.Close()
	return (int64(n) + int64(len(list))*indexEntry) * 4 / 3
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

var _ io.Writer = new(counter)

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
