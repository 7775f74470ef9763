package node

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/units"
)

// BenchmarkRegrant is the time from the death of a process that holds a whole GPU, with its
// memory given back at once, until the next in the queue has been told that the GPU is
// theirs. The agent reads once a second; the death wakes it.
func BenchmarkRegrant(b *testing.B) {
	dir := b.TempDir()
	c := &crowd{client: client.New(filepath.Join(dir, "agent.sock")), load: newLoad(filepath.Join(dir, "load"), 1<<50), leases: map[int64]*told{}, keys: map[string]int64{}}
	defer c.client.Close()
	b.Setenv(envInterval, "1s")
	agent := c.begin(b, dir, "")
	defer func() { _ = agent.Process.Kill(); _ = agent.Wait() }()
	ask := func(k int) (client.Lease, *sleeper) {
		holds := c.sleep()
		l, err := c.insist(func(ctx context.Context) (client.Lease, error) {
			return c.client.Submit(ctx, client.Request{MemoryBytes: 130 * units.GiB, Device: "GPU-00000000-0000-4000-8000-000000000000", Key: fmt.Sprint(k), HolderPID: holds.Pid})
		})
		if err != nil {
			b.Fatal(err)
		}
		return l, holds
	}
	held, holder := ask(-1)
	c.load.put(holder.Pid, held.Shares[0].Device, 130*units.GiB)
	var took []time.Duration
	for k := 0; b.Loop(); k++ {
		next, waits := ask(k)
		began := time.Now()
		holder.end()
		c.load.put(holder.Pid, "", 0)
		next, err := c.client.Wait(context.Background(), next.ID, "queued", 30*time.Second)
		if err != nil || next.State != "granted" {
			b.Fatalf("%+v: %v", next, err)
		}
		took = append(took, time.Since(began))
		holder = waits
		c.load.put(holder.Pid, next.Shares[0].Device, 130*units.GiB)
	}
	holder.end()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
}
