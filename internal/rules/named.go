package rules

// Named is a mistake in the source that a finding may come from.
type Named struct {
	Rule       string
	Confidence Confidence // that the finding comes from it
	File       string
	Line       int
	Code       string // the line
	Message    string
	Remedy     string
	Tie        string // what ties the two: "line", "function" or "file"
	Doubt      string // what cannot be known of the source; empty where there is nothing
}
