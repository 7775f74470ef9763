package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/units"
)

// leaseFlags are what a request asks for, as it was given.
type leaseFlags struct {
	memory    string
	gpus      int
	gpu       string
	exclusive bool
	priority  int
	queue     string
	project   string
	ttl       string
	noWait    bool
}

// addTo adds the flags that every command has which asks for a lease. How much memory is asked
// for has another name in each.
func (f *leaseFlags) addTo(app *App, cmd *cobra.Command, c *connection) {
	fl := cmd.Flags()
	fl.IntVar(&f.gpus, "gpus", 1, "how many GPUs, or MIG instances, with so much memory on each")
	fl.StringVar(&f.gpu, "gpu", "", "`which`: its number in lists, its UUID, or part of a model's name, as in h200")
	fl.BoolVar(&f.exclusive, "exclusive", false, "nobody else on the GPU")
	fl.IntVar(&f.priority, "priority", 0, "a point is worth some minutes of waiting; below 0 lets others pass")
	fl.StringVar(&f.queue, "queue", "", "`name` of a queue that the agent's settings have")
	fl.StringVar(&f.project, "project", "", "`name` of a project of yours, whose quota counts")
	fl.StringVar(&f.ttl, "ttl", "", "`time` after which the lease ends, as in 90min, 8h or 2d")
	fl.BoolVar(&f.noWait, "no-wait", false, "refused if it cannot start now")
	completeFlag(cmd, "gpu", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return completeDevices(app, c)(cmd, nil, prefix)
	})
}

// request returns what the flags ask for. memoryFlag is what the flag for memory is called.
func (f *leaseFlags) request(memoryFlag string) (client.Request, error) {
	r := client.Request{
		Devices: f.gpus, Exclusive: f.exclusive, Priority: f.priority, Queue: f.queue, Project: f.project, NoWait: f.noWait,
	}
	if f.gpus < 1 {
		return r, usageErrorf("--gpus: %d is no number of GPUs", f.gpus)
	}
	var err error
	if f.memory != "" {
		if r.MemoryBytes, err = leaseBytes(f.memory); err != nil {
			return r, usageErrorf("--%s: %w", memoryFlag, err)
		}
	} else if !f.exclusive {
		return r, usageErrorf("--%s is missing: how much memory, on each GPU; or --exclusive for all of it", memoryFlag)
	}
	_, number := deviceNumber(f.gpu) // which is a part of many a model's name, and not meant as one
	if number || strings.HasPrefix(f.gpu, "GPU-") || strings.HasPrefix(f.gpu, "MIG-") {
		r.Device = f.gpu
	} else {
		r.Model = f.gpu
	}
	ttl, err := parseTTL("ttl", f.ttl)
	r.TTLMS = ttl.Milliseconds()
	return r, err
}

// leaseBytes reads how much memory is asked for. The agent refuses too little all the same; a number
// alone is told here, where it is known that the unit was forgotten.
func leaseBytes(text string) (int64, error) {
	n, err := positiveBytes(text)
	switch {
	case err != nil || n >= lease.LeastBytes:
		return n, err
	case strings.Trim(text, "0123456789") == "":
		return n, withHint(fmt.Errorf("%s is %s, and no program runs in that", text, units.FormatBytes(n)), "a size has a unit, as in %sGiB", text)
	}
	return n, fmt.Errorf("%s is less than any program takes of a GPU: expected %s at least", units.FormatBytes(n), units.FormatBytes(lease.LeastBytes))
}

// parseTTL reads a span that is longer than nothing; without a text it is 0.
func parseTTL(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := units.ParseDuration(text)
	switch {
	case errors.Is(err, units.ErrTooLong), err == nil && d > lease.LongestTTL:
		return 0, usageErrorf("--%s: %.40q is too long: a lease has at most %dd", flag, text, lease.LongestTTL/(24*time.Hour))
	case err != nil:
		return 0, usageErrorf("--%s: %w", flag, err)
	case d < time.Millisecond:
		return 0, usageErrorf("--%s: %v is over at once", flag, d)
	}
	return d, nil
}
