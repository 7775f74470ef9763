package fit

import (
	"fmt"
	"strings"
)

// communicators fills in what NCCL takes: of one rank the library and a communicator, of two
// the rings and messages too.
func (m *Measurements) communicators(c *NCCLContext, stand standIn) CalibratedTerm {
	first, ok := m.rank(0)
	switch why := m.whyLeft("nccl"); {
	case why != "" && !ok:
		return stand.left("nccl", why)
	case len(m.nccl) == 0:
		return stand.left("nccl", "there is no line about it")
	case !ok:
		return stand.left("nccl", "the driver does not tell how much memory is in use")
	}
	text := []string{c.made(first, stand.card.Name)}
	second, both := m.rank(1)
	switch {
	case first.ranks < 2:
		text = append(text, "what ranks need to talk is as of "+stand.card.Name+", for there was no second GPU")
	case !both || !first.has("exchange") || !second.has("exchange"):
		text = append(text, "messages are as of "+stand.card.Name+": the second rank did not tell")
	default:
		c.messages(first, second)
		text = append(text, fmt.Sprintf("messages %d, and %d to send, %d to receive; more ranks, several machines and NCCL_* settings change it",
			c.MessagesBytes>>20, c.SendBytes>>20, c.ReceiveBytes>>20))
	}
	if !first.apart {
		text = append(text, "from what is in use on the whole card")
	}
	return CalibratedTerm{Name: "nccl", Origin: Measured, Noisy: !first.apart, Text: strings.Join(text, "; ")}
}

// made tells library, communicator and rings apart. A second communicator costs what the first
// does without the library. Its rings come with its first collective where it is made before
// that; where PyTorch makes it only then, the communicator's part is as of another card.
func (c *NCCLContext) made(u rankUse, other string) string {
	whole := u.more("first", "second")
	c.LibraryBytes = max(0, u.more("before", "first")-whole)
	if u.ranks < 2 {
		c.CommunicatorBytes = whole
		return fmt.Sprintf("MiB: library %d, communicator %d", c.LibraryBytes>>20, c.CommunicatorBytes>>20)
	}
	how := ""
	if alone := u.more("first", "made"); alone > 0 {
		c.CommunicatorBytes = min(alone, whole)
	} else {
		c.CommunicatorBytes = min(c.CommunicatorBytes, whole)
		how = " (of the sum, as of " + other + ")"
	}
	c.RingsBytes = whole - c.CommunicatorBytes
	return fmt.Sprintf("MiB: library %d, communicator %d%s, rings %d", c.LibraryBytes>>20, c.CommunicatorBytes>>20, how, c.RingsBytes>>20)
}

// messages tells apart what messages need: the first rank sends, and then receives too; the
// second receives, and then sends too.
func (c *NCCLContext) messages(first, second rankUse) {
	c.ReceiveBytes = max(0, first.more("scatter", "exchange"))
	c.SendBytes = max(0, second.more("scatter", "exchange"))
	c.MessagesBytes = max(0, first.more("second", "scatter")-c.SendBytes)
}

// rankUse is what a rank takes outside of PyTorch's allocator after each step.
type rankUse struct {
	ranks int
	bytes map[string]int64
	apart bool // the driver told processes apart
}

// rank reads what a rank said. ok is false where the driver does not tell what is in use.
func (m *Measurements) rank(rank int) (u rankUse, ok bool) {
	for i := range m.nccl {
		l := &m.nccl[i]
		if l.Rank != rank {
			continue
		}
		u = rankUse{ranks: l.Ranks, bytes: map[string]int64{}, apart: true}
		for step, t := range l.Taken {
			mine, device, reserved := t[0], t[1], t[2]
			if mine == nil {
				mine, u.apart = device, false
			}
			if mine != nil && reserved != nil {
				u.bytes[step] = *mine - *reserved
			}
		}
		return u, u.has("before") && u.has("first") && u.has("made") && u.has("second")
	}
	return u, false
}

func (u rankUse) has(step string) bool { _, ok := u.bytes[step]; return ok }

// more is what came with a step.
func (u rankUse) more(before, step string) int64 { return max(0, u.bytes[step]-u.bytes[before]) }
