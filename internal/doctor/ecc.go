package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// ecc judges the error correction of the devices' memory, what it costs, and what it found.
func ecc(f *Facts) (checks []Check) {
	for _, d := range f.devices() {
		checks = append(checks, f.eccMode(&d)...)
	}
	if len(f.those(func(d *gpu.Device) bool { return d.ECC.Mode != "" })) > 0 && len(checks) == 0 {
		checks = append(checks, ok("gpu/ecc", "%s", f.eccText()))
	}
	for _, d := range f.devices() {
		checks = append(checks, f.errors(&d)...)
	}
	return checks
}

// inlineECC are parts of the names of cards whose memory (GDDR) has no room of its own for
// check bits, so that ECC takes some of it: 1/16. HBM has that room.
var inlineECC = []string{
	"T4", "A2", "A10", "A16", "A40", "L4", "L20", "L40", "P4", "P40", "M60", "K40", "K80", "RTX", "Quadro",
}

// hasInlineECC tells whether ECC takes memory of a card, by its name.
func hasInlineECC(name string) bool {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '-' })
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(inlineECC, strings.TrimSuffix(strings.TrimSuffix(w, "S"), "G"))
	})
}

func (f *Facts) eccMode(d *gpu.Device) []Check {
	const id = "gpu/ecc"
	pending := f.health(d.UUID).ECCPending
	switch mode := d.ECC.Mode; {
	case mode == "":
		return nil
	case pending != "" && pending != mode:
		return []Check{found(id, Warning, fmt.Sprintf("ECC is %s on %s, and is to be %s after the next reset", mode, f.which(d), pending),
			"The amount of memory may change with it: ECC takes 1/16 of GDDR memory, and none of HBM.", "end all programs on it, then: nvidia-smi --gpu-reset -i "+fmt.Sprint(d.Index)+", or reboot")}
	case mode == "on" && hasInlineECC(d.Name):
		return []Check{found(id, Note, fmt.Sprintf("ECC is on on %s, and takes 1/16 of its memory: %s are left", f.which(d), memoryText(d.Memory)),
			"The check bits stand in the same GDDR memory, and cost bandwidth too. Without them a flipped bit goes unseen.",
			"leave it on where results matter; to turn it off: nvidia-smi -e 0 as root, and a reset")}
	case mode == "off" && !hasInlineECC(d.Name):
		return []Check{found(id, Note, "ECC is off on "+f.which(d), "With HBM that saves no memory: its check bits have room of their own. A flipped bit goes unseen.",
			"nvidia-smi -e 1 as root, and a reset")}
	}
	return nil
}

func (f *Facts) eccText() string {
	on := f.those(func(d *gpu.Device) bool { return d.ECC.Mode == "on" })
	if len(on) == 0 {
		return "ECC is off"
	}
	return "ECC is on, and takes none of the memory"
}

// errors judges what error correction has found.
func (f *Facts) errors(d *gpu.Device) (checks []Check) {
	const id = "gpu/memory-errors"
	h := f.health(d.UUID)
	reset := "end all programs on it, then: nvidia-smi --gpu-reset -i " + fmt.Sprint(d.Index)
	switch {
	case h.RemapFailed:
		checks = append(checks, found(id, Problem, f.which(d)+" could not replace a bad row of its memory", "It has no spare rows left there.", "have the device replaced"))
	case h.RemapPending, h.RetirePends:
		checks = append(checks, found(id, Warning, f.which(d)+" has bad memory that is replaced at the next reset", "Until then it may be hit again, which ends programs.", reset))
	}
	if d.ECC.Uncorrected != nil && *d.ECC.Uncorrected > 0 {
		checks = append(checks, found(id, Warning, fmt.Sprintf("%s on %s since the driver was loaded that could not be corrected", count(int(*d.ECC.Uncorrected), "memory error"), f.which(d)),
			"Each has ended a program.", reset, "if they come back, have the device replaced"))
	}
	if h.Recovery != "" {
		checks = append(checks, found(id, Problem, fmt.Sprintf("the driver asks for a recovery of %s: %s", f.which(d), h.Recovery), "It has met an error that the device does not get over by itself.", "see Xid errors in dmesg", reset))
	}
	if len(checks) == 0 && h.Remapped != nil && *h.Remapped > 0 {
		checks = append(checks, found(id, Note, fmt.Sprintf("%s has replaced %s of its memory", f.which(d), count(*h.Remapped, "row")), "It has spare ones for that: no memory is lost."))
	}
	if len(checks) == 0 && h.Retired != nil && *h.Retired > 0 {
		checks = append(checks, found(id, Note, fmt.Sprintf("%s has retired %s of its memory", f.which(d), count(*h.Retired, "page")), "A page is 64 KiB."))
	}
	return checks
}
