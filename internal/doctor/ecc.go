package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// ecc judges the error correction of the devices' memory, what it costs, and what it found.
func ecc(f *Facts) []Check {
	checks := f.merged(f.eccMode)
	if len(f.those(func(d *gpu.Device) bool { return d.ECC.Mode != "" })) > 0 && len(checks) == 0 {
		checks = append(checks, ok("gpu/ecc", "%s", f.eccText()))
	}
	return append(checks, f.merged(f.errors)...)
}

// Words in the names of cards. GDDR memory has no room of its own for check bits, so that ECC
// takes 1/16 of it: an A40 has 46068 of 49152 MiB left, a T4 15360 of 16384. HBM has that room.
var (
	gddrCards = []string{"T4", "A2", "A10", "A16", "A40", "L4", "L20", "L40", "P4", "P40", "M60", "K40", "K80", "RTX", "Quadro"}
	hbmCards  = []string{"P100", "V100", "A30", "A100", "A800", "H20", "H100", "H200", "H800", "GH200", "B100", "B200", "B300", "GB200", "GB300"}
)

// isOf tells whether a card is of a list, by its name: "NVIDIA A10G", "NVIDIA L40S",
// "NVIDIA A100-SXM4-80GB".
func isOf(cards []string, name string) bool {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '-' })
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(cards, strings.TrimRight(w, "SG")) || slices.Contains(cards, w)
	})
}

// takesMemory tells whether ECC takes memory of a card. Of what RTX cards since Blackwell do
// nothing is known here.
func takesMemory(name string) bool {
	return isOf(gddrCards, name) && !strings.Contains(name, "Blackwell")
}

func (f *Facts) eccMode(d *gpu.Device) []Check {
	const id = "gpu/ecc"
	pending := f.health(d.UUID).ECCPending
	switch mode := d.ECC.Mode; {
	case mode == "":
		return nil
	case pending != "" && pending != mode:
		return []Check{found(id, Warning, fmt.Sprintf("ECC is %s, and is to be %s after the next reset, on {gpu}", mode, pending),
			"The amount of memory may change with it: ECC takes 1/16 of GDDR memory, and none of HBM.", resetAdvice)}
	case mode == "on" && takesMemory(d.Name):
		return []Check{found(id, Note, fmt.Sprintf("ECC takes 1/16 of the memory of {gpu}: %s are left", memoryText(d.Memory)),
			"The check bits stand in the same GDDR memory, and cost bandwidth too. Without them a flipped bit goes unseen.",
			"leave it on where results matter; to turn it off: nvidia-smi -i {index} -e 0 as root, and a reset")}
	case mode == "off" && isOf(hbmCards, d.Name):
		return []Check{found(id, Note, "ECC is off on {gpu}", "With HBM that saves no memory: its check bits have room of their own. A flipped bit goes unseen.",
			"nvidia-smi -i {index} -e 1 as root, and a reset")}
	}
	return nil
}

func (f *Facts) eccText() string {
	on := f.those(func(d *gpu.Device) bool { return d.ECC.Mode == "on" })
	switch {
	case len(on) == 0:
		return "ECC is off"
	case slices.ContainsFunc(on, func(d gpu.Device) bool { return !isOf(hbmCards, d.Name) }):
		return "ECC is on"
	}
	return "ECC is on, and takes none of the memory"
}

// errors judges what error correction has found.
func (f *Facts) errors(d *gpu.Device) (checks []Check) {
	const id = "gpu/memory-errors"
	h := f.health(d.UUID)
	switch {
	case h.RemapFailed:
		checks = append(checks, found(id, Problem, "a bad row of memory could not be replaced on {gpu}", "There are no spare rows left for it.", "have the device replaced"))
	case h.RemapPending, h.RetirePends:
		checks = append(checks, found(id, Warning, "bad memory is to be replaced at the next reset of {gpu}", "Until then it may be hit again, which ends programs.", resetAdvice))
	}
	if n := d.ECC.Uncorrected; n != nil && *n > 0 {
		checks = append(checks, found(id, Warning, fmt.Sprintf("%s could not be corrected since the driver was loaded, on {gpu}", count(int(*n), "memory error")),
			"Each may have ended a program.", resetAdvice, "if they come back, have the device replaced"))
	}
	if h.Recovery != "" {
		checks = append(checks, found(id, Problem, "the driver asks for a recovery of {gpu}: "+h.Recovery, "It has met an error that the device does not get over by itself.", "see Xid errors in dmesg", resetAdvice))
	}
	switch {
	case len(checks) > 0:
	case h.Remapped != nil && *h.Remapped > 0:
		checks = append(checks, found(id, Note, fmt.Sprintf("%s of memory were replaced on {gpu}", count(*h.Remapped, "row")), "There are spare ones for that: no memory is lost."))
	case h.Retired != nil && *h.Retired > 0:
		checks = append(checks, found(id, Note, fmt.Sprintf("%s of memory are retired on {gpu}", count(*h.Retired, "page")), "A page is 64 KiB."))
	}
	return checks
}
