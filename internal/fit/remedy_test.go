package fit

import (
	"strings"
	"testing"
)

func TestReadRemedy(t *testing.T) {
	text := `{"e":"meta","version":1,"torch":"2.11.0"}
{"e":"remedy","name":"checkpoint","n":16,"text":"around 16 Bottleneck"}
{"e":"remedy","name":"sgd","n":0,"text":"the program made no optimizer"}
{"e":"end","reason":"steps"}
`
	tr, err := Read(strings.NewReader(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Remedies) != 2 || tr.Remedies[0] != (Applied{"checkpoint", 16, "around 16 Bottleneck"}) || tr.Remedies[1].Places != 0 {
		t.Errorf("%+v", tr.Remedies)
	}
	if _, err := Read(strings.NewReader(strings.Replace(text, "16,", `"many",`, 1)), "x"); err == nil {
		t.Error("a number that is none was read")
	}
}
