package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	dashboardPath = "../../deploy/grafana/ullage.json"
	rulesPath     = "../../deploy/prometheus/ullage.rules.yml"
	rulesTestPath = "../../deploy/prometheus/ullage.test.yml"
	docsPath      = "../../docs/metrics.md"
)

func read(tb testing.TB, path string) string {
	tb.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

// dashboard is what the tests look at of one. That it is one that Grafana can load,
// tools/dashcheck tells.
type dashboard struct {
	Panels      []panel `json:"panels"`
	Annotations struct {
		List []struct {
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
	Templating struct {
		List []variable `json:"list"`
	} `json:"templating"`
}

type variable struct {
	Name       string `json:"name"`
	Definition string `json:"definition"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct{ X, Y, W, H int }
	Datasource  struct{ UID string }
	Targets     []struct{ RefID, Expr string }
	FieldConfig struct {
		Defaults struct{ Unit string }
	}
}

func loadDashboard(tb testing.TB) dashboard {
	tb.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(tb, dashboardPath)), &d); err != nil {
		tb.Fatal(err)
	}
	return d
}

// queries returns all PromQL of a dashboard.
func (d *dashboard) queries() (all []string) {
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			all = append(all, t.Expr)
		}
	}
	for _, a := range d.Annotations.List {
		all = append(all, a.Expr)
	}
	return all
}

func TestDashboardPanels(t *testing.T) {
	d := loadDashboard(t)
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if p.ID <= 0 || ids[p.ID] {
			t.Errorf("%s: id %d is not its own", p.Title, p.ID)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.X < 0 || g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("%s: at %+v, which is not within 24 columns", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s lies over %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("panel %d, %q, lacks a title, a description, a unit, a query or the variable data source", p.ID, p.Title)
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if refs[q.RefID] {
				t.Errorf("%s: two queries %s", p.Title, q.RefID)
			}
			refs[q.RefID] = true
		}
	}
}

var (
	variableName = regexp.MustCompile(`\$\{?(\w+)`)
	metricName   = regexp.MustCompile(`\bullage[_:][a-z0-9_:]+`)
	recordName   = regexp.MustCompile(`(?m)^ *- record: (\S+)$`)
	alertName    = regexp.MustCompile(`(?m)^ *- alert: (\S+)$`)
)

// What Grafana fills in itself.
var builtIn = []string{"__range", "__interval", "__rate_interval"}

func TestDashboardVariables(t *testing.T) {
	d := loadDashboard(t)
	names := slices.Clone(builtIn)
	var texts []string
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
		texts = append(texts, v.Definition)
	}
	used := strings.Join(append(texts, d.queries()...), "\n")
	for _, m := range variableName.FindAllStringSubmatch(used, -1) {
		if !slices.Contains(names, m[1]) {
			t.Errorf("$%s is not a variable", m[1])
		}
	}
	for _, name := range names[len(builtIn):] {
		if name != "datasource" && !strings.Contains(used, "$"+name) {
			t.Errorf("no query uses $%s", name)
		}
	}
}

// known are the metrics that a scrape of everything shows, and those that rules record.
func known(tb testing.TB) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(read(tb, "testdata/scrape.txt")) {
		if name := metricName.FindString(line); name != "" && !strings.HasPrefix(line, "#") {
			names[name] = true
		}
	}
	for _, m := range recordName.FindAllStringSubmatch(read(tb, rulesPath), -1) {
		names[m[1]] = true
	}
	return names
}

// Queries and rules name what there is.
func TestDeployedNames(t *testing.T) {
	names := known(t)
	d := loadDashboard(t)
	texts := append(d.queries(), read(t, rulesPath), read(t, rulesTestPath))
	for _, v := range d.Templating.List {
		texts = append(texts, v.Definition)
	}
	for _, name := range metricName.FindAllString(strings.Join(texts, "\n"), -1) {
		if !names[name] {
			t.Errorf("%s is not a metric", name)
		}
	}
	for name := range names {
		if strings.Contains(name, ":") && strings.Count(strings.Join(texts, "\n"), name) < 2 {
			t.Errorf("%s is recorded, and nothing uses it", name)
		}
	}
}

func alerts(tb testing.TB) (names []string) {
	for _, m := range alertName.FindAllStringSubmatch(read(tb, rulesPath), -1) {
		names = append(names, m[1])
	}
	if len(names) < 10 {
		tb.Fatalf("only %d alerts found", len(names))
	}
	return names
}

// Every alert has a case in which it fires and one in which it does not, and a runbook.
func TestAlerts(t *testing.T) {
	rules, cases, docs := read(t, rulesPath), read(t, rulesTestPath), read(t, docsPath)
	for _, name := range alerts(t) {
		fires := regexp.MustCompile(`alertname: ` + name + `\n +exp_alerts:\n`)
		silent := regexp.MustCompile(`alertname: ` + name + `\n +exp_alerts: \[\]\n`)
		if !fires.MatchString(cases) || !silent.MatchString(cases) {
			t.Errorf("%s: no case in which it fires, or none in which it does not", name)
		}
		if !strings.Contains(docs, "\n### "+name+"\n") {
			t.Errorf("%s: no runbook in docs/metrics.md", name)
		}
		if url := "docs/metrics.md#" + strings.ToLower(name) + "\n"; !strings.Contains(rules, url) {
			t.Errorf("%s: no runbook_url that ends in %s", name, url)
		}
	}
}

// The list in docs/metrics.md is the one of this package; -update writes it.
func TestDocs(t *testing.T) {
	const begin, end = "<!-- the list, from go test ./internal/metrics -update -->\n", "<!-- end of the list -->"
	docs := read(t, docsPath)
	head, rest, ok := strings.Cut(docs, begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/metrics.md has no place for the list")
	}
	list := familyList(collector(machine(t), busyCounters(t), Options{}).families)
	if *update {
		if err := os.WriteFile(docsPath, []byte(head+begin+list+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != list {
		t.Error("the list of metrics in docs/metrics.md is not that of the program: run go test ./internal/metrics -update")
	}
}

// sections are the parts of the list, by how names begin; the first that fits counts.
var sections = []struct{ title, prefixes string }{
	{"Devices", "ullage_device_ ullage_mig_"},
	{"Jobs", "ullage_job_"},
	{"Leases and the queue", "ullage_lease ullage_queue_ ullage_over_use_ ullage_drains_"},
	{"Processes", "ullage_process_"},
	{"The agent", "ullage_"},
}

func familyList(all families) string {
	rows := make([]strings.Builder, len(sections))
	for _, f := range all {
		i := slices.IndexFunc(sections, func(s struct{ title, prefixes string }) bool {
			return slices.ContainsFunc(strings.Fields(s.prefixes), func(p string) bool { return strings.HasPrefix(f.name, p) })
		})
		fmt.Fprintf(&rows[i], "| `%s` | %s | %s | %s |\n", f.name, f.kind, strings.Join(f.labels, ", "), f.help)
	}
	var b strings.Builder
	for i, s := range sections {
		fmt.Fprintf(&b, "\n### %s\n\n| metric | type | labels | is |\n|---|---|---|---|\n%s", s.title, rows[i].String())
	}
	return b.String() + "\n"
}

// A scrape of everything shows all that is listed, and nothing else.
func TestListIsWhatIsShown(t *testing.T) {
	shown := known(t)
	for _, f := range collector(machine(t), busyCounters(t), Options{}).families {
		name := f.name
		if f.kind == "histogram" {
			name += "_bucket"
		}
		if !shown[name] {
			t.Errorf("the golden scrape has no %s", name)
		}
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			delete(shown, f.name+suffix)
		}
	}
	for name := range shown {
		if !strings.Contains(name, ":") {
			t.Errorf("%s is shown and not listed", name)
		}
	}
}
