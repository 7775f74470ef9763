package fit

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

func TestNCCLBytes(t *testing.T) {
	n := NCCLContext{LibraryBytes: 1, CommunicatorBytes: 10, RingsBytes: 100, MessagesBytes: 1000, SendBytes: 10_000, ReceiveBytes: 100_000}
	for _, tt := range []struct {
		comms []Communicator
		want  int64
	}{
		{nil, 0},
		{[]Communicator{{Ranks: 2}}, 11},
		{[]Communicator{{Ranks: 2, Rings: true}}, 111},
		{[]Communicator{{Ranks: 1, Rings: true}}, 11},
		{[]Communicator{{Ranks: 2, Send: true}}, 11_011},
		{[]Communicator{{Ranks: 2, Receive: true, Rings: true}, {Ranks: 8, Rings: true}}, 101_221},
	} {
		if got := n.Bytes(tt.comms); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.comms, got, tt.want)
		}
	}
	for _, p := range Profiles() {
		if n := p.Context.NCCL; n.LibraryBytes <= 0 || n.CommunicatorBytes <= 0 || n.RingsBytes <= 0 || n.MessagesBytes <= 0 || n.SendBytes <= 0 || n.ReceiveBytes <= 0 {
			t.Errorf("%s has no numbers for NCCL", p.Name)
		}
	}
}

// TestContextOfMeasuredRanks: the jobs that two H200s ran (testdata/gpu/ranks_check.py), by how
// their communicators talk. What they took outside of PyTorch's allocator is within 1 % of
// the process.
func TestContextOfMeasuredRanks(t *testing.T) {
	rings := Communicator{Ranks: 2, Rings: true}
	usual := []Communicator{rings}
	talks := map[string][2][]Communicator{ // by rank
		"ddp": {usual, usual}, "ddp_views": {usual, usual}, "ddp_unused": {usual, usual}, "zero": {usual, usual}, "fsdp1": {usual, usual}, "fsdp2_kept": {usual, usual}, "fsdp2_meta": {usual, usual},
		"tensor_parallel":   {{{Ranks: 2, Rings: true, Send: true}}, {{Ranks: 2, Rings: true, Receive: true}}},
		"sequence_parallel": {{{Ranks: 2, Rings: true, Send: true}}, {{Ranks: 2, Rings: true, Receive: true}}},
		"hsdp":              {{{Ranks: 2}, {Ranks: 1, Rings: true}, rings}, {{Ranks: 2}, {Ranks: 1, Rings: true}, rings}},
		"experts":           {{{Ranks: 2, Send: true, Receive: true}}, {{Ranks: 2, Send: true, Receive: true}}},
	}
	file, err := os.Open("../../testdata/gpu/ranks_check.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	context := mustProfile(t, "h200").Context
	met := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row struct {
			Job                string
			Rank               int
			After              string
			Process, Allocated int64
			ProcessBytes       int64 `json:"process_bytes"`
			Reserved           int64
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		comms, known := talks[row.Job]
		if !known || row.After != "" {
			continue
		}
		met++
		used := Libraries{CuBLAS: 2, NCCL: comms[row.Rank]}
		used.CuDNN = row.Job == "ddp" || row.Job == "ddp_views" || row.Job == "ddp_unused" || row.Job == "zero"
		outside := row.ProcessBytes - row.Reserved
		off := context.Bytes(used) - outside
		t.Logf("%s, rank %d: %d MiB outside, %+d MiB", row.Job, row.Rank, outside>>20, off>>20)
		if max(off, -off)*100 > row.ProcessBytes {
			t.Errorf("%s, rank %d: computed %d, measured %d", row.Job, row.Rank, context.Bytes(used), outside)
		}
	}
	if met < 20 {
		t.Errorf("%d measured ranks", met)
	}
}
