package report

import (
	"fmt"
	"io"

	"github.com/ullage-dev/ullage/internal/fit"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/units"
)

// Calibration prints what was measured of a card, and where the rest of its numbers is from.
// file is where it was written; "" for nowhere.
func Calibration(w io.Writer, l term.Look, card *fit.Profile, file string) error {
	c := card.Calibration
	p := newPage(l, false)
	p.title(card.Device)
	p.text(0, fmt.Sprintf("Measured in %.0f s with torch %s, CUDA %s, cuDNN %s, driver %s.", c.Seconds, orNone(c.Torch), orNone(c.CUDA), orNone(fit.CuDNNVersion(c.CuDNN)), orNone(c.Driver)))
	p.heading("The card")
	t := newGrid("", ">", "")
	t.row("memory", units.FormatBytes(card.TotalBytes), "as CUDA counts it")
	if kept := c.NVMLTotalBytes - card.TotalBytes; c.NVMLTotalBytes > 0 && kept >= 0 {
		t.row("kept by the driver", units.FormatBytes(kept), "in nvidia-smi's total, and never free")
	}
	t.row("multiprocessors", units.FormatCount(int64(card.Multiprocessors)), fmt.Sprintf("of compute capability %d.%d", card.Major, card.Minor))
	x := &card.Context
	t.row("context", units.FormatBytes(x.BaseBytes), fmt.Sprintf("of a process; %s more with cuBLAS, %s with autograd's thread, %s with cuDNN", units.FormatBytes(x.CuBLASBytes),
		units.FormatBytes(x.CuBLASMoreBytes), units.FormatBytes(x.CuDNNBytes)))
	t.row("NCCL", units.FormatBytes(x.NCCL.LibraryBytes), fmt.Sprintf("and %s for a communicator, %s for its rings", units.FormatBytes(x.NCCL.CommunicatorBytes), units.FormatBytes(x.NCCL.RingsBytes)))
	p.grid(t)
	p.heading("Where the numbers are from")
	for _, term := range c.Terms {
		origin := term.Origin
		if term.Noisy {
			origin += ", noisy"
		}
		p.text(2, fmt.Sprintf("- %s (%s): %s.", term.Name, origin, term.Text))
	}
	if file != "" {
		p.line("")
		p.line("Written to " + file + ". To predict with it:")
		p.line("  ullage fit --gpu " + file + " -- python train.py")
	}
	_, err := io.WriteString(w, p.String())
	return err
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
