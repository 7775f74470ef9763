package viewer

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/ullage-dev/ullage/internal/units"
)

// The exported page: docs/formats/view-api.md, "The exported page".

// dataMark is the place in the page where the answers go.
const dataMark = "<!--data-->"

// headTag is where the page's head begins.
const headTag = "<head>"

// exportPolicy lets the page run the code that is in it, and fetch nothing from anywhere.
const exportPolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"

// exportHead is how the head of an exported page begins, and of no page that others write.
const exportHead = headTag + `<meta http-equiv="Content-Security-Policy" content="`

// IsExported tells from the beginning of a file whether it is an exported page.
func IsExported(head []byte) bool { return bytes.Contains(head, []byte(exportHead)) }

// exportForm is the version of the form that the answers have in the page.
const exportForm = 1

// scaffold is what the page has around the answers, at most: tags, and the index without its
// entries.
const scaffold = 2 << 10

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

	// Progress, where it is not nil, is told how many bytes were added.
	Progress func(bytes int64)
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
	ctx   context.Context // asked between answers: a page of many takes seconds
	s     *Server
	opt   ExportOptions
	index indexJSON
	data  bytes.Buffer // packed answers
	page  int64        // bytes of the page without any data
}

// Export makes the page. All files must have been loaded.
func (s *Server) Export(ctx context.Context, opt ExportOptions) (*Exported, error) {
	page, ok := s.assets.find(exportPage)
	start, rest, headed := bytes.Cut(page.plain, []byte(headTag))
	before, after, marked := bytes.Cut(rest, []byte(dataMark))
	if !ok || !headed || !marked {
		return nil, fmt.Errorf("the page's files have no %s with %s and the mark %s", exportPage, headTag, dataMark)
	}
	e := &export{ctx: ctx, s: s, opt: opt, page: int64(len(page.plain)) + scaffold}
	e.index = indexJSON{
		Form: exportForm, Made: s.cfg.Now().UTC().Format(time.RFC3339), Version: s.cfg.Version, Redacted: opt.Redacted, MaxBytes: opt.MaxBytes,
		Answers: map[string][2]int{}, Tiles: map[string]map[string]int{}, LeftOut: []string{},
	}
	if err := e.gather(); err != nil {
		return nil, err
	}
	out := new(bytes.Buffer)
	fmt.Fprintf(out, `%s%s%s">`, start, exportHead, exportPolicy)
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
	packed := pack(index)
	for _, part := range [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(len(packed))), packed, e.data.Bytes()} {
		if _, err := text.Write(part); err != nil {
			return err
		}
	}
	err = text.Close()
	out.WriteString("</script>")
	return err
}

func pack(plain []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.DefaultCompression) // the level is one that there is
	z.Write(plain)                                           // a Buffer never fails
	z.Close()
	return b.Bytes()
}

// answer is a path below api and what it is answered, packed.
type answer struct {
	path   string
	packed []byte
}

// ask answers a path as the server does.
func (e *export) ask(path string) (answer, error) {
	if err := context.Cause(e.ctx); err != nil {
		return answer{}, err
	}
	target, err := url.Parse("http://localhost" + api + path)
	if err != nil {
		return answer{}, err
	}
	w := recorder{header: http.Header{}}
	r := http.Request{Method: http.MethodGet, URL: target, Host: target.Host, Header: http.Header{}}
	e.s.ServeHTTP(&w, r.WithContext(e.ctx))
	if w.status != 0 && w.status != http.StatusOK {
		if err := context.Cause(e.ctx); err != nil {
			return answer{}, err // it ended what was asked for
		}
		return answer{}, refusal(path, &w)
	}
	return answer{path, pack(w.body.Bytes())}, nil
}

// refusal is the error in an answer.
func refusal(path string, w *recorder) error {
	var v errorJSON
	if err := json.Unmarshal(w.body.Bytes(), &v); err != nil || w.status >= http.StatusInternalServerError {
		return fmt.Errorf("%s: status %d: %.200s", path, w.status, w.body.Bytes())
	}
	return statusErrorf(w.status, "%s", v.Error.Message)
}

// indexEntry is what an answer takes in the packed index beside its path, at most: its
// numbers hardly pack, and its path is like the one before it.
const indexEntry = 24

// size is what answers add to the file, at most.
func size(list []answer) int64 {
	n := int64(len(list)) * indexEntry
	for _, a := range list {
		n += int64(len(a.packed))
	}
	return n
}

// fits tells whether there is room for more answers.
func (e *export) fits(list []answer) bool { return e.needs(list) <= e.opt.MaxBytes }

// needs is the size of the file with more answers, at most.
func (e *export) needs(list []answer) int64 {
	packed := int64(e.data.Len()) + int64(len(e.index.Answers))*indexEntry + size(list)
	return e.page + (packed+2)/3*4
}

// add puts answers into the page, all of them or, where there is no room, none.
func (e *export) add(list []answer) bool {
	if !e.fits(list) {
		return false
	}
	before := e.data.Len()
	for _, a := range list {
		e.index.Answers[a.path] = [2]int{e.data.Len(), len(a.packed)}
		e.data.Write(a.packed)
	}
	if e.opt.Progress != nil {
		e.opt.Progress(int64(e.data.Len()-before) / 3 * 4)
	}
	return true
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
