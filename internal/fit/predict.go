package fit

import (
	"fmt"
	"slices"

	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/snapshot"
)

// Prediction is what a job will need.
type Prediction struct {
	Job    *Job
	Config allocator.Config // of the caching allocator
	Limit  int64            // of reserved bytes that the program or the user set; 0 for none

	Best      Run   // without a bound of the device
	HighBytes int64 // reserved peak where all that is known within bounds only takes the most
	Safe      int64
	Why       []Margin // what Safe is made of, beyond the best estimate

	ContextBytes int64 // outside of the caching allocator
	ProcessBytes int64 // ContextBytes and the peak of what is reserved
	SafeProcess  int64 // ContextBytes, its spread, and Safe

	Fits Run // on the card itself
}

// Margin is one reason for which Safe lies above the best estimate.
type Margin struct {
	Text  string
	Bytes int64
}

// Options say how to predict.
type Options struct {
	Config     *allocator.Config // settings; nil: those that the program was started with
	LimitBytes int64             // of reserved bytes; 0: none, or what the program sets
}

// Predict runs a job in simulation.
func Predict(j *Job, opt Options) (*Prediction, error) {
	p := &Prediction{Job: j, Limit: opt.LimitBytes}
	if err := p.configure(opt); err != nil {
		return nil, err
	}
	p.Best = j.Run(Room{Config: p.unlimited()})
	p.bound()
	c := j.Profile.Context
	p.ContextBytes = c.Bytes(j.Used)
	p.ProcessBytes = p.ContextBytes + p.Best.PeakReserved
	p.SafeProcess = p.ContextBytes + c.SpreadBytes + p.Safe
	p.Fits = j.Run(Room{Config: p.Config, DeviceBytes: max(1, j.Profile.RoomBytes(j.Used))}) // 0 is no bound
	return p, nil
}

// configure settles the allocator's settings and limit.
func (p *Prediction) configure(opt Options) error {
	total := p.Job.Profile.TotalBytes
	if opt.Config != nil {
		p.Config = *opt.Config
	} else {
		s, err := allocator.ParseConfig(p.Job.Version, p.Job.Trace.Meta.AllocConf)
		if err != nil {
			return fmt.Errorf("%s: the program's allocator settings: %w", p.Job.Trace.Name, err)
		}
		p.Config = s.ForDevice(total)
	}
	if f := p.Job.Fraction; p.Limit == 0 && f > 0 && f < 1 {
		p.Limit = int64(f * float64(total))
	}
	if p.Limit > 0 {
		p.Config.LimitBytes = p.Limit
	}
	return nil
}

// unlimited is the configuration without a limit of what may be reserved.
func (p *Prediction) unlimited() allocator.Config {
	c := p.Config
	c.LimitBytes = 0
	return c
}

// Orders of addresses that a driver may hand out, beside the likely one.
var otherOrders = []Room{{Order: allocator.Ascending}, {Order: allocator.Descending}, {Order: allocator.Shuffled, Seed: 1}, {Order: allocator.Shuffled, Seed: 2}}

// mixes is in how many runs the workspaces that were never measured take nothing, the most, or
// some amount between, each another: more memory can fall to pieces then than where all take
// the most.
const mixes = 12

// bound finds a limit of reserved bytes under which the job is expected to live. Three
// things make a real run differ from the best estimate: what no trace tells, in which order
// the driver hands out addresses; the workspaces that were never measured, which are run
// at the most that similar ones take; and what the model does not know, for which a share
// stays that was found on measured jobs (docs/accuracy.md), and a segment. A job whose sizes
// differ from step to step has not shown its most after three: what the last step added is
// counted twice.
func (p *Prediction) bound() {
	best := p.Best.PeakReserved
	order, high := best, best
	for _, room := range otherOrders {
		room.Config = p.unlimited()
		order = max(order, p.Job.Run(room).PeakReserved)
	}
	high = max(high, p.Job.Run(Room{Config: p.unlimited(), High: true}).PeakReserved)
	if p.Job.Guesses > 0 {
		for seed := range uint64(mixes) {
			high = max(high, p.Job.Run(Room{Config: p.unlimited(), Mixed: seed + 1}).PeakReserved)
		}
	}
	p.HighBytes, p.Safe = high, max(order, high)
	p.margin("addresses as another driver hands them out", order-best)
	p.margin(p.Job.RoughText(), high-max(order, best))
	rest, rise := p.unknown(), p.Rise()
	p.Safe += rest + rise
	p.margin("what the model does not know", rest)
	p.margin("what the last step still added, once more", rise)
}

func (p *Prediction) margin(text string, bytes int64) {
	if bytes > 0 {
		p.Why = append(p.Why, Margin{text, bytes})
	}
}

// Record returns the best estimate as a recording.
func (p *Prediction) Record() (*snapshot.Recording, Run) {
	return p.Job.Record(Room{Config: p.unlimited()})
}

// RoomBytes is what PyTorch may reserve: what the card has left, or the limit.
func (p *Prediction) RoomBytes() int64 {
	room := p.Job.Profile.RoomBytes(p.Job.Used)
	if p.Limit > 0 {
		room = min(room, p.Limit)
	}
	return room
}

// Shares of the peak for what the model does not know, found on measured jobs.
const (
	unknownShare      = 0.015
	estimatedShare    = 0.018    // more, times the share of convolutions that were not measured
	unknownLeastBytes = 22 << 20 // a segment
)

func (p *Prediction) unknown() int64 {
	share := unknownShare
	if j := p.Job; j.Guesses > 0 {
		share += estimatedShare * float64(j.Guesses) / float64(j.Guesses+j.Exact)
	}
	return max(int64(share*float64(p.Best.PeakReserved)), unknownLeastBytes, p.Job.unseen())
}

// Card is how a job does on a card.
type Card struct {
	Profile *Profile
	Run     Run
	Room    int64 // bytes that the caching allocator can have
	Spare   int64 // beyond what the job needs to be safe; negative where it does not fit
	Safe    bool  // the safe bound fits too
}

// Lives tells whether the job is expected to run to its end.
func (c *Card) Lives() bool { return c.Run.Failed == nil }

// Cards tries the job on all cards that are known, the largest first. The operators'
// own needs are those of each card, but the kernels are those that the traced card has.
func (p *Prediction) Cards() ([]Card, error) {
	var out []Card
	for _, card := range p.Job.Profile.among(Profiles()) {
		j := p.Job
		if card.Name != j.Profile.Name {
			var err error
			if j, err = Compile(p.Job.Trace, card, p.Job.Device); err != nil {
				return nil, err
			}
		}
		room := card.RoomBytes(j.Used)
		c := Card{Profile: card, Room: room, Run: j.Run(Room{Config: p.Config, DeviceBytes: max(1, room)})}
		c.Spare = room - p.Safe
		c.Safe = c.Lives() && c.Spare >= 0
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Card) int { return int((b.Room - a.Room) >> 20) })
	return out, nil
}
