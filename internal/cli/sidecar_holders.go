package cli

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/term"
)

// sidecarHolders is what the process said of what held its storages. docs/holders.md describes it.
type sidecarHolders struct {
	Complete bool            `json:"complete"`
	Problem  string          `json:"problem"` // why there is nothing
	Notes    []string        `json:"notes"`
	List     []sidecarHolder `json:"list"`
}

type sidecarHolder struct {
	Device    int              `json:"device"`
	Path      string           `json:"path"`
	Where     string           `json:"where"`
	Kind      string           `json:"kind"`
	Places    int              `json:"places"`
	SavedBy   map[string]int64 `json:"saved_by"` // bytes by node of autograd
	Addresses []string         `json:"addresses"`
}

const maxHolderText = 400 // bytes of a path, and of what says where it begins

// census returns what was said of one device, or nil where nothing was.
func (h *sidecarHolders) census(device int) *analyze.Census {
	if h == nil || h.Problem != "" {
		return nil
	}
	c := &analyze.Census{Complete: h.Complete}
	for _, note := range h.Notes {
		c.Notes = append(c.Notes, shortText(note))
	}
	for _, one := range h.List {
		if one.Device == device {
			c.Keepers = append(c.Keepers, one.keeper())
		}
	}
	return c
}

func (h *sidecarHolder) keeper() analyze.Keeper {
	k := analyze.Keeper{Path: shortText(h.Path), Where: shortText(h.Where), Kind: shortText(h.Kind), Places: h.Places}
	k.SavedBy = slices.Sorted(maps.Keys(h.SavedBy))
	slices.SortStableFunc(k.SavedBy, func(a, b string) int { return cmp.Compare(h.SavedBy[b], h.SavedBy[a]) })
	for i, name := range k.SavedBy {
		k.SavedBy[i] = shortText(name)
	}
	for _, text := range h.Addresses {
		if addr, err := strconv.ParseUint(text, 0, 64); err == nil {
			k.Addresses = append(k.Addresses, addr)
		}
	}
	return k
}

// shortText is a text of the process as a terminal may have it.
func shortText(text string) string {
	text = term.Clean(text)
	if len(text) <= maxHolderText {
		return text
	}
	cut := maxHolderText
	for cut > 0 && text[cut]&0xC0 == 0x80 { // within a character
		cut--
	}
	return text[:cut] + "…"
}
