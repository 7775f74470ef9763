package settings

import (
	"fmt"
	"strings"
)

// TOML returns the settings as a file that says all of them: reading it gives the same.
func (s *Settings) TOML() string {
	var b strings.Builder
	for _, t := range s.tables() {
		if t.name != "" {
			fmt.Fprintf(&b, "\n[%s]\n", t.name)
		}
		printKeys(&b, t.keys)
	}
	for i := range s.Policy.Queues {
		printRow(&b, "queue", queueKeys(&s.Policy.Queues[i]))
	}
	for i := range s.Reserves {
		printRow(&b, "reserve", reserveKeys(&s.Reserves[i]))
	}
	for i := range s.Policy.Quotas {
		q := &s.Policy.Quotas[i]
		who := partyOf(q.Scope, q.Name)
		printRow(&b, "quota", quotaKeys(&who, q))
	}
	for i := range s.Policy.Limits {
		l := &s.Policy.Limits[i]
		who := partyOf(l.Scope, l.Name)
		printRow(&b, "limit", limitKeys(&who, l))
	}
	for i := range s.Projects {
		printRow(&b, "project", projectKeys(&s.Projects[i]))
	}
	return b.String()
}

// printRow prints a row without what it leaves open.
func printRow(b *strings.Builder, name string, keys []key) {
	fmt.Fprintf(b, "\n[[%s]]\n", name)
	var set []key
	for _, k := range keys {
		if shown := k.to.show(); shown != "" && shown != `""` {
			set = append(set, k)
		}
	}
	printKeys(b, set)
}

func printKeys(b *strings.Builder, keys []key) {
	for _, k := range keys {
		if shown := k.to.show(); shown != "" {
			fmt.Fprintf(b, "%s = %s\n", k.name, shown)
		}
	}
}
