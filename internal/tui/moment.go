package tui

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/units"
)

// Moment is what is known of a machine at one moment.
type Moment struct {
	client.State               // the agent's; without one only the reading
	About        *client.About // the agent that told; nil: the driver alone did
	Missing      string        // why the agent did not, where one was asked
	Local        bool          // the processes are of this machine, so that they can be ended
	Asked        time.Time     // when; an agent's reading can be older
}

// Agent is what the monitor asks of the agent. Explain and GiveBack are asked while a State
// may be under way.
type Agent interface {
	About(context.Context) (client.About, error)
	State(context.Context) (client.State, error)
	Explain(ctx context.Context, lease int64) (client.Explanation, error)
	GiveBack(ctx context.Context, known *client.Lease) (client.Lease, error)
}

// agentDeadline is how long the agent has for an answer. It has what it tells at hand, so
// one that takes longer is stopped or stuck, and the driver is asked instead.
const agentDeadline = time.Second

// Source finds out what is going on: from the agent while it answers, else from a probe. It
// is for use by one goroutine at a time.
type Source struct {
	Agent Agent                                    // nil: none is asked
	Open  func(context.Context) (gpu.Probe, error) // opens the probe, when it is first needed
	Local bool                                     // the probe reads this machine
	Named bool                                     // the user asked for this agent: where nobody answers, that it did not is told
	Clock gpu.Clock
	Name  func(*gpu.Reading) // names processes that the agent leaves without a name; nil: nobody does

	about *client.About // of the agent, if it answered last
	met   bool          // it has answered once
	probe gpu.Probe
}

// Ready makes sure that something answers: the agent, or a probe that opens.
func (s *Source) Ready(ctx context.Context) error {
	_, missing := s.askAgent(ctx)
	if missing == nil {
		return nil
	}
	if err := s.openProbe(ctx); err != nil {
		return s.neither(missing, err)
	}
	return nil
}

// Read asks once. When the agent comes back after it was gone, it is asked again.
func (s *Source) Read(ctx context.Context) (Moment, error) {
	m, missing := s.askAgent(ctx)
	if missing == nil {
		return m, nil
	}
	reading, err := s.readProbe(ctx)
	if err != nil {
		return Moment{}, s.neither(missing, err)
	}
	m = Moment{State: client.State{Reading: reading}, Local: s.Local, Asked: s.Clock.Now()}
	if s.Agent != nil {
		m.Missing = missing.Error()
	}
	return m, nil
}

// Close gives back what the source holds.
func (s *Source) Close() error {
	if s.probe == nil {
		return nil
	}
	return s.probe.Close()
}

var errNoAgent = errors.New("no agent is asked")

func (s *Source) askAgent(ctx context.Context) (Moment, error) {
	if s.Agent == nil {
		return Moment{}, errNoAgent
	}
	within, cancel := context.WithTimeout(ctx, agentDeadline)
	defer cancel()
	state, err := s.Agent.State(within)
	if err == nil && s.about == nil {
		err = s.meet(within)
	}
	if err != nil {
		s.about = nil
		return Moment{}, late(ctx, err)
	}
	if s.Name != nil {
		s.Name(&state.Reading)
	}
	return Moment{State: state, About: s.about, Local: gpu.OfThisMachine(s.about.Probe), Asked: s.Clock.Now()}, nil
}

// late is the error of a question that had agentDeadline, in words where the agent missed
// that. ctx is without the deadline: where it has ended too, the user has left.
func late(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("the agent has not answered for %s", units.FormatDuration(agentDeadline))
	}
	return err
}

// meet asks an agent that has just come, or come back, who it is and whom it takes us for.
func (s *Source) meet(ctx context.Context) error {
	about, err := s.Agent.About(ctx)
	if err == nil {
		s.about, s.met = &about, true
	}
	return err
}

func (s *Source) readProbe(ctx context.Context) (gpu.Reading, error) {
	if err := s.openProbe(ctx); err != nil {
		return gpu.Reading{}, err
	}
	return s.probe.Read(ctx)
}

func (s *Source) openProbe(ctx context.Context) (err error) {
	if s.probe == nil {
		s.probe, err = s.Open(ctx)
	}
	return err
}

// neither is the error where nobody answers. That there is no agent is the usual thing, and
// only told where one was.
func (s *Source) neither(missing, err error) error {
	if !s.met && !s.Named {
		return err
	}
	return fmt.Errorf("%w; %w", missing, err)
}

// device finds the device with a UUID, or the one that the MIG device with that UUID is of.
func (mo *Moment) device(uuid string) (*gpu.Device, *gpu.Instance) {
	for i := range mo.Reading.Devices {
		d := &mo.Reading.Devices[i]
		if d.UUID == uuid {
			return d, nil
		}
		for k := range d.Instances {
			if d.Instances[k].UUID == uuid {
				return d, &d.Instances[k]
			}
		}
	}
	return nil, nil
}

// leased is a device as leases see it; nil where the agent does not tell, or has it not.
func (mo *Moment) leased(uuid string) *client.Device {
	for i := range mo.Devices {
		if mo.Devices[i].UUID == uuid {
			return &mo.Devices[i]
		}
	}
	return nil
}
