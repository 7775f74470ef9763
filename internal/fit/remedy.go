package fit

import (
	"encoding/json"
	"fmt"
)

// Applied is what the tracer says of a remedy that it was to try on the program.
type Applied struct {
	Name   string
	Places int    // that it changed; 0 where it had nothing to change
	Text   string // what was done, or why nothing was
}

const maxApplied = 1024

// applied reads a line about a remedy.
func (rd *reader) applied(line []byte) error {
	var r struct {
		Name string
		N    int
		Text string
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("of kind \"remedy\": %w", err)
	}
	if len(rd.t.Remedies) >= maxApplied {
		return fmt.Errorf("more than %d remedies", maxApplied)
	}
	rd.t.Remedies = append(rd.t.Remedies, Applied{r.Name, r.N, r.Text})
	return nil
}
