package gpu

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
)

// Health is what a device tells beside a reading: what hardly changes, and is asked for
// once. Texts are empty and numbers nil where it is not told.
type Health struct {
	UUID         string
	Capability   string // CUDA's number of what it can run, as in 9.0
	Architecture string // as in Hopper
	Addressing   string // how it reaches the processor's memory: HMM, ATS; None
	MIGPending   string // on, off: after the next reset
	ECCPending   string // likewise
	Remapped     *int   // rows of memory that were replaced for errors that could not be corrected
	RemapPending bool   // a row is to be replaced at the next reset
	RemapFailed  bool   // a row could not be replaced
	Retired      *int   // pages of memory that are kept unused for such errors; devices before Ampere
	RetirePends  bool   // a page is to be retired at the next reset
	Recovery     string // what the driver asks for: None, Reset, Reboot, …; since driver 565
}

// Examine asks a machine for the health of its devices. It asks nvidia-smi, which tells the
// same in a build without NVML; spec is that of the probe, since only this machine and fakes
// can be examined.
func Examine(ctx context.Context, spec string, m Machine) ([]Health, error) {
	if name, ok := strings.CutPrefix(spec, "fake:"); ok {
		return fakeHealth(name)
	}
	if !OfThisMachine(spec) {
		return nil, errors.New("a recorded reading does not tell it")
	}
	asking := lane[[]Health]{what: "nvidia-smi", limit: smiDeadline, clock: m.Clock}
	return asking.do(ctx, func(ctx context.Context) ([]Health, error) { return smiExamine(ctx, m) })
}

func smiExamine(ctx context.Context, m Machine) ([]Health, error) {
	out, failed := m.Run(ctx, "nvidia-smi", "-q", "-x")
	all, err := parseHealth(out)
	switch {
	case err != nil && failed != nil:
		return nil, failed
	case err != nil:
		return nil, fmt.Errorf("nvidia-smi -q -x: %w", err)
	}
	// The XML lacks the capability; drivers before 510 do not know the query.
	if list, err := m.Run(ctx, "nvidia-smi", "--query-gpu=uuid,compute_cap", "--format=csv,noheader"); err == nil {
		addCapabilities(all, string(list))
	}
	return all, nil
}

type healthLog struct {
	XMLName xml.Name    `xml:"nvidia_smi_log"`
	GPUs    []healthGPU `xml:"gpu"`
}

type healthGPU struct {
	UUID          string `xml:"uuid"`
	Architecture  string `xml:"product_architecture"`
	Addressing    string `xml:"addressing_mode"`
	MIGPending    string `xml:"mig_mode>pending_mig"`
	ECCPending    string `xml:"ecc_mode>pending_ecc"`
	Remapped      string `xml:"remapped_rows>remapped_row_unc"`
	RemapPending  string `xml:"remapped_rows>remapped_row_pending"`
	RemapFailed   string `xml:"remapped_rows>remapped_row_failure"`
	RetiredSingle string `xml:"retired_pages>multiple_single_bit_retirement>retired_count"`
	RetiredDouble string `xml:"retired_pages>double_bit_retirement>retired_count"`
	RetirePends   string `xml:"retired_pages>pending_retirement"`
	Recovery      string `xml:"gpu_recovery_action"`
}

func parseHealth(raw []byte) ([]Health, error) {
	dec := xml.NewDecoder(bytes.NewReader(raw))
	dec.Strict = false // see parseSMI
	var log healthLog
	if err := dec.Decode(&log); err != nil {
		return nil, fmt.Errorf("expected the XML of nvidia-smi: %w", err)
	}
	if len(log.GPUs) > maxDevices {
		return nil, fmt.Errorf("%d GPUs are more than a machine can have", len(log.GPUs))
	}
	all := make([]Health, len(log.GPUs))
	for i, g := range log.GPUs {
		all[i] = g.health()
		if all[i].UUID == "" {
			all[i].UUID = unknownUUID(i)
		}
	}
	return all, nil
}

func (g *healthGPU) health() Health {
	return Health{
		UUID:         told(g.UUID),
		Architecture: told(g.Architecture),
		Addressing:   told(g.Addressing),
		MIGPending:   smiMode(g.MIGPending),
		ECCPending:   smiMode(g.ECCPending),
		Remapped:     smiInt(g.Remapped),
		RemapPending: strings.TrimSpace(g.RemapPending) == "Yes",
		RemapFailed:  strings.TrimSpace(g.RemapFailed) == "Yes",
		Retired:      sumInts(smiInt(g.RetiredSingle), smiInt(g.RetiredDouble)),
		RetirePends:  strings.TrimSpace(g.RetirePends) == "Yes",
		Recovery:     told(g.Recovery),
	}
}

// sumInts adds up what is told; nil where nothing is.
func sumInts(numbers ...*int) (sum *int) {
	for _, n := range numbers {
		if n == nil {
			continue
		}
		if sum == nil {
			sum = new(int)
		}
		*sum += *n
	}
	return sum
}

// addCapabilities reads lines as "GPU-6f1c2a3b-…, 9.0".
func addCapabilities(all []Health, list string) {
	for line := range strings.Lines(list) {
		uuid, capability, ok := strings.Cut(strings.TrimSpace(line), ", ")
		for i := range all {
			if ok && all[i].UUID == uuid {
				all[i].Capability = told(capability)
			}
		}
	}
}

// fakeHealth is that of the devices of a scene, none of which is ill.
func fakeHealth(name string) ([]Health, error) {
	name, _, _ = strings.Cut(name, "@")
	build, ok := scenes()[name]
	if !ok {
		return nil, &SpecError{"fake:" + name}
	}
	var all []Health
	for _, d := range build().devices {
		capability, architecture := cardKind(d.Name)
		h := Health{UUID: d.UUID, Capability: capability, Architecture: architecture, ECCPending: d.ECC.Mode}
		if d.MIG {
			h.MIGPending = "on"
		}
		if d.ECC.Mode != "" {
			h.Remapped = new(int)
		}
		all = append(all, h)
	}
	return all, nil
}

// cardKind is what the cards of the scenes are, by their names.
func cardKind(name string) (capability, architecture string) {
	for _, k := range []struct{ part, capability, architecture string }{
		{"H200", "9.0", "Hopper"}, {"H100", "9.0", "Hopper"}, {"A40", "8.6", "Ampere"}, {"T4", "7.5", "Turing"}, {"Orin", "8.7", "Ampere"},
	} {
		if strings.Contains(name, k.part) {
			return k.capability, k.architecture
		}
	}
	return "", ""
}
