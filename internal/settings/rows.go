package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/tomlfile"
)

// fileReader reads the values of a file, and goes on after a fault.
type fileReader struct {
	s      *Settings
	doc    *tomlfile.Document
	faults []located
}

// located is a fault with its place.
type located struct {
	offset int
	text   string
}

func (r *fileReader) fault(path, format string, args ...any) {
	r.faults = append(r.faults, located{r.doc.Offset(path), fmt.Sprintf(format, args...)})
}

// read reads tables, then rows, then what remains at the top.
func (r *fileReader) read() {
	tables := r.s.tables()
	inside := map[string]bool{}
	for _, t := range tables[1:] {
		inside[t.name] = true
		if v, ok := r.doc.Root[t.name]; ok {
			r.table(t.name, v, t.keys)
		}
	}
	for name, read := range r.rowReaders() {
		inside[name] = true
		r.rows(name, read)
	}
	r.checkQueues()
	r.keys("", r.doc.Root, tables[0].keys, inside)
}

// table reads a table, and tells whether it is one.
func (r *fileReader) table(path string, v any, keys []key) bool {
	values, ok := v.(map[string]any)
	if !ok {
		r.fault(path, "%s: expected a table, found %s", path, tomlfile.TypeOf(v))
		return false
	}
	r.keys(path, values, keys, nil)
	return true
}

// keys sets what a table has. Names in others are read elsewhere.
func (r *fileReader) keys(table string, values map[string]any, keys []key, others map[string]bool) {
	for name, v := range values {
		path := tomlfile.Join(table, name)
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		switch {
		case others[name]:
		case i < 0:
			r.fault(path, "%.40q is no setting here; expected one of %s", name, namesOf(keys, others))
		default:
			if err := keys[i].to.set(v); err != nil {
				r.fault(path, "%s: %v", name, err)
			}
		}
	}
}

func namesOf(keys []key, others map[string]bool) string {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	return strings.Join(append(names, slices.Sorted(maps.Keys(others))...), ", ")
}

// rows calls read for each row of an array of tables.
func (r *fileReader) rows(name string, read func(path string, v any)) {
	v, ok := r.doc.Root[name]
	if !ok {
		return
	}
	all, ok := v.([]any)
	if !ok {
		r.fault(name, "%s: expected rows, each under [[%s]], found %s", name, name, tomlfile.TypeOf(v))
		r.doc.Root[name] = []any{} // said once
	}
	for i, v := range all {
		read(tomlfile.Row(name, i), v)
	}
}

// rowReaders read the rows of each array of tables into the settings. A row with a fault is
// kept out of them, so that nothing is said of it twice.
func (r *fileReader) rowReaders() map[string]func(path string, v any) {
	return map[string]func(string, any){
		"queue":   r.queue,
		"reserve": r.reserve,
		"quota":   r.quota,
		"limit":   r.limit,
		"project": r.project,
	}
}

func (r *fileReader) queue(path string, v any) {
	var q lease.Queue
	before := len(r.faults)
	switch twice := func(o lease.Queue) bool { return o.Name == q.Name }; {
	case !r.table(path, v, queueKeys(&q)) || len(r.faults) > before:
	case q.Name == "":
		r.fault(path, "a queue needs a name")
	case slices.ContainsFunc(r.s.Policy.Queues, twice):
		r.fault(path, "there is a queue %q already", q.Name)
	default:
		r.s.Policy.Queues = append(r.s.Policy.Queues, q)
	}
}

func (r *fileReader) reserve(path string, v any) {
	var row Reserve
	before := len(r.faults)
	switch twice := func(o Reserve) bool { return o.Queue == row.Queue && o.Device == row.Device && o.Model == row.Model }; {
	case !r.table(path, v, reserveKeys(&row)) || len(r.faults) > before:
	case row.Queue == "" || row.Bytes == 0:
		r.fault(path, "a reserve needs a queue and memory")
	case row.Device != "" && row.Model != "":
		r.fault(path, "a reserve is on a device or on those of a model, not both")
	case slices.ContainsFunc(r.s.Reserves, twice):
		r.fault(path, "there is such a reserve for queue %q already", row.Queue)
	default:
		r.s.Reserves = append(r.s.Reserves, row)
	}
}

func (r *fileReader) quota(path string, v any) {
	var who party
	var q lease.Quota
	before := len(r.faults)
	if !r.table(path, v, quotaKeys(&who, &q)) || len(r.faults) > before {
		return
	}
	var wrong string
	q.Scope, q.Name, wrong = who.of()
	switch twice := func(o lease.Quota) bool { return o.Scope == q.Scope && o.Name == q.Name }; {
	case wrong != "":
		r.fault(path, "%s", wrong)
	case q.PeakBytes == 0 && q.GiBHours == 0:
		r.fault(path, "a quota needs peak, gib_hours or both")
	case slices.ContainsFunc(r.s.Policy.Quotas, twice):
		r.fault(path, "there is a quota of %s %q already", q.Scope, q.Name)
	default:
		r.s.Policy.Quotas = append(r.s.Policy.Quotas, q)
	}
}

func (r *fileReader) limit(path string, v any) {
	var who party
	var l lease.Limit
	before := len(r.faults)
	if !r.table(path, v, limitKeys(&who, &l)) || len(r.faults) > before {
		return
	}
	var wrong string
	l.Scope, l.Name, wrong = who.of()
	switch twice := func(o lease.Limit) bool { return o.Scope == l.Scope && o.Name == l.Name }; {
	case wrong != "":
		r.fault(path, "%s", wrong)
	case slices.ContainsFunc(r.s.Policy.Limits, twice):
		r.fault(path, "there is a limit of %s %q already", l.Scope, l.Name)
	default:
		r.s.Policy.Limits = append(r.s.Policy.Limits, l)
	}
}

func (r *fileReader) project(path string, v any) {
	var p Project
	before := len(r.faults)
	switch twice := func(o Project) bool { return o.Name == p.Name }; {
	case !r.table(path, v, projectKeys(&p)) || len(r.faults) > before:
	case p.Name == "":
		r.fault(path, "a project needs a name")
	case p.Name == lease.Each:
		r.fault(path, `no project can be called "*": that is each of them`)
	case slices.ContainsFunc(r.s.Projects, twice):
		r.fault(path, "there is a project %q already", p.Name)
	default:
		r.s.Projects = append(r.s.Projects, p)
	}
}

// checkQueues tells of reserves for queues that do not exist, and of quotas and limits of
// projects that do not: nothing would ever count towards them.
func (r *fileReader) checkQueues() {
	r.rows("reserve", func(path string, v any) {
		r.mustExist(path, v, "queue", func(name string) bool {
			return slices.ContainsFunc(r.s.Policy.Queues, func(q lease.Queue) bool { return q.Name == name })
		})
	})
	for _, table := range []string{"quota", "limit"} {
		r.rows(table, func(path string, v any) {
			r.mustExist(path, v, "project", func(name string) bool {
				return name == lease.Each || slices.ContainsFunc(r.s.Projects, func(p Project) bool { return p.Name == name })
			})
		})
	}
}

func (r *fileReader) mustExist(path string, row any, key string, exists func(name string) bool) {
	values, _ := row.(map[string]any)
	if name, ok := values[key].(string); ok && name != "" && !exists(name) {
		r.fault(tomlfile.Join(path, key), "there is no [[%s]] with the name %q", key, name)
	}
}
