package triage

// notAsked are the causes that no question leads to, with the reason: what shows them is
// read by a program, and not known to people.
var notAsked = map[string]string{
	"conf/better-settings":          "only a replay tells that other settings need less: ullage tune",
	"conf/host-option":              "read from the setting itself: ullage doctor, ullage lint",
	"conf/inert-non-split-rounding": "read from the setting itself: ullage doctor, ullage lint",
	"conf/repeated-option":          "read from the setting itself: ullage doctor, ullage lint",
	"conf/throw-without-fraction":   "read from the setting itself: ullage doctor, ullage lint",
}

// NotAsked returns why no question leads to a cause; "" for those to which one does.
func NotAsked(rule string) string { return notAsked[rule] }
