package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/units"
)

// busyMachine has 8 devices and 200 processes, each a rank with a lease of its own that
// reports: the most series that so many processes can make.
func busyMachine(tb testing.TB) *agent {
	a := &agent{status: Status{Ready: true, Read: noon, PerProcess: true}, state: client.State{Reading: reading(tb, "h100x8")}}
	for _, d := range a.state.Reading.Devices {
		a.state.Devices = append(a.state.Devices, client.Device{UUID: d.UUID, CapacityBytes: 79 * gib, GrantedBytes: 75 * gib})
	}
	for i, p := range a.state.Reading.Processes {
		held := *p.UsedBytes
		a.state.Leases = append(a.state.Leases, client.Lease{
			ID: int64(i + 1), State: "granted", User: p.User, Name: p.Command, Grade: "self",
			Shares: []client.Share{{Device: p.DeviceUUID, Bytes: 3 * gib, UsedBytes: &held}},
		})
		a.state.Jobs = append(a.state.Jobs, client.Job{
			PID: p.PID, User: p.User, Lease: int64(i + 1), Name: fmt.Sprint("job-", i/8), Rank: ptr(i % 8), LocalRank: ptr(i % 8), Step: ptr(int64(i)), Reported: ptr(noon),
			Devices: []client.JobDevice{{
				Device: p.DeviceUUID, UsedBytes: &held, Outside: ptr[int64](500 * units.MiB), Slope: ptr(0.0),
				Allocator: &client.Allocator{AllocatedBytes: held / 2, ReservedBytes: held - 500*units.MiB, LimitBytes: 2 * gib},
			}},
		})
	}
	return a
}

// BenchmarkScrape answers a scrape of a busy machine, over 5,000 series, as text. Budget:
//
//	20 ms
func BenchmarkScrape(b *testing.B) {
	h := collector(busyMachine(b), busyCounters(b), Options{}).Handler()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", nil)
	var bytes int
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if bytes = w.Body.Len(); w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
	b.ReportMetric(float64(bytes), "bytes/scrape")
}
