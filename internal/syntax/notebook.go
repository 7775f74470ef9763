package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// notebookFile is what is read of a notebook: of format 4, and of format 3 with its
// worksheets. Outputs, which make up most of a file, are skipped.
type notebookFile struct {
	Cells      []notebookCell `json:"cells"`
	Worksheets []struct {
		Cells []notebookCell `json:"cells"`
	} `json:"worksheets"`
	Metadata struct {
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
}

type notebookCell struct {
	Type   string `json:"cell_type"`
	Source lines  `json:"source"`
	Input  lines  `json:"input"` // format 3
}

// lines is a text that is stored whole, or as a list of its lines.
type lines string

func (l *lines) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = lines(one)
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return errors.New("the source of a cell is neither a text nor a list of lines")
	}
	*l = lines(strings.Join(many, ""))
	return nil
}

// readNotebook joins the code of all cells, since what one defines the next one uses.
func readNotebook(name string, data []byte) (*Source, error) {
	data, bom := bytes.CutPrefix(data, []byte("\xef\xbb\xbf"))
	var nb notebookFile
	if err := json.Unmarshal(data, &nb); err != nil {
		return nil, notebookError(name, data, err)
	}
	for _, language := range []string{nb.Metadata.Language.Name, nb.Metadata.Kernel.Language} {
		if language != "" && !strings.Contains(strings.ToLower(language), "python") {
			return nil, &Error{Name: name, What: fmt.Sprintf("is a notebook in %.40q, not in Python", language)}
		}
	}
	cells := nb.Cells
	for _, sheet := range nb.Worksheets {
		cells = append(cells, sheet.Cells...)
	}
	src := &Source{Name: name, Encoding: "utf-8", BOM: bom}
	var text []byte
	line := 1
	for number, cell := range cells {
		if cell.Type != "code" {
			continue
		}
		code := blankMagics(endLines(string(cell.Source + cell.Input)))
		src.cells = append(src.cells, Cell{Number: number + 1, Line: line})
		text = append(text, code...)
		line += strings.Count(code, "\n")
	}
	src.setText(text)
	return src, nil
}

func notebookError(name string, data []byte, err error) *Error {
	e := &Error{Name: name, What: "is not a notebook: " + err.Error(), hint: "a notebook is a JSON file, as Jupyter saves it"}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		e.Line = lineOf(data, min(int(syntax.Offset), len(data)))
	}
	if other := (*json.UnmarshalTypeError)(nil); errors.As(err, &other) {
		e.Line = lineOf(data, min(int(other.Offset), len(data)))
		e.What = fmt.Sprintf("is not a notebook: %s, where a notebook has something else", otherValue(other))
	}
	return e
}

// otherValue says what stands where, in the words of JSON: an error of the decoder names types of
// this program.
func otherValue(err *json.UnmarshalTypeError) string {
	kind, _, _ := strings.Cut(err.Value, " ") // a number comes with its value, which may be long
	if err.Field == "" {
		return "it begins with " + kind
	}
	return fmt.Sprintf("%s is %s", err.Field, kind)
}

// endLines gives a cell the line ends that Source has, and one at its end, where the next
// cell begins. A zero byte would end the source for the parser.
func endLines(code string) string {
	code = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", " ").Replace(code)
	if !strings.HasSuffix(code, "\n") {
		code += "\n"
	}
	return code
}
