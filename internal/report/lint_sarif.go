package report

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/lint"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
	"github.com/ullage-dev/ullage/internal/units"
)

// GitHub's limits on a SARIF file that is uploaded to it: it takes 25,000 results and keeps
// 5,000 of a run, 1,000 places of a result, and 20 tags of a rule.
const (
	sarifMaxResults = 25_000
	sarifMaxRelated = 100
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	projectURL  = "https://github.com/ullage-dev/ullage"
	sarifRoot   = "%SRCROOT%"
)

// The parts of SARIF 2.1.0 that are written.
type (
	// SARIF is a log in the form of SARIF 2.1.0.
	SARIF struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name            string      `json:"name"`
		InformationURI  string      `json:"informationUri"`
		SemanticVersion string      `json:"semanticVersion,omitempty"`
		Version         string      `json:"version"`
		Rules           []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID       string         `json:"id"`
		Short    sarifText      `json:"shortDescription"`
		Full     sarifText      `json:"fullDescription"`
		Help     sarifText      `json:"help"`
		HelpURI  string         `json:"helpUri"`
		Defaults sarifDefaults  `json:"defaultConfiguration"`
		Bag      sarifRuleProps `json:"properties"`
	}
	sarifDefaults struct {
		Level string `json:"level"`
	}
	sarifRuleProps struct {
		Tags      []string `json:"tags"`
		Precision string   `json:"precision,omitempty"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Related      []sarifLocation   `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Fixes        []sarifFix        `json:"fixes,omitempty"`
		Bag          sarifResultProps  `json:"properties"`
	}
	sarifResultProps struct {
		Confidence string `json:"confidence"`
		Cell       int    `json:"cell,omitempty"`
	}
	sarifLocation struct {
		ID       int           `json:"id,omitempty"`
		Physical sarifPhysical `json:"physicalLocation"`
		Message  *sarifText    `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int        `json:"startLine"`
		StartColumn int        `json:"startColumn,omitempty"`
		EndLine     int        `json:"endLine,omitempty"`
		EndColumn   int        `json:"endColumn,omitempty"`
		Snippet     *sarifText `json:"snippet,omitempty"`
	}
	sarifFix struct {
		Description sarifText     `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		Artifact     sarifArtifact      `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		Deleted  sarifRegion `json:"deletedRegion"`
		Inserted sarifText   `json:"insertedContent"`
	}
	sarifInvocation struct {
		Successful bool                `json:"executionSuccessful"`
		Notices    []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
)

// sarifLevels are SARIF's words for severities.
var sarifLevels = map[rules.Severity]string{rules.Error: "error", rules.Warning: "warning", rules.Info: "note"}

// NewSARIF makes the SARIF form of a result. version is the program's.
func NewSARIF(r *lint.Result, version string) SARIF {
	findings := slices.Clone(r.Findings)
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}, Invocations: []sarifInvocation{sarifNotices(r)}}
	run.Tool.Driver = sarifDriver{Name: "ullage", InformationURI: projectURL, Version: version, Rules: sarifRules(findings)}
	if n := len(findings) - sarifMaxResults; n > 0 {
		// The worst stay.
		slices.SortStableFunc(findings, func(a, b lint.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
		findings = findings[:sarifMaxResults]
		run.Invocations[0].Notices = append(run.Invocations[0].Notices, sarifNotification{Level: "warning", Message: sarifText{Text: units.FormatPlural(n, "finding is", "findings are") + " left out: a SARIF file has at most 25,000"}})
	}
	for i := range findings {
		run.Results = append(run.Results, newSarifResult(&findings[i], run.Tool.Driver.Rules))
	}
	return SARIF{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}}
}

// sarifRules are the rules that lint reports, and those of the findings.
func sarifRules(findings []lint.Finding) []sarifRule {
	out := []sarifRule{}
	for _, r := range rules.All() {
		used := slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Rule == r.ID })
		if !used && !slices.Contains(r.FoundBy, "lint") {
			continue
		}
		out = append(out, sarifRule{
			ID: r.ID, Short: sarifText{Text: r.Title}, Full: sarifText{Text: r.Summary},
			Help:    sarifText{Text: r.Why + "\n\n" + r.Change, Markdown: RuleMarkdown(r)},
			HelpURI: projectURL + "/blob/main/" + r.Doc(), Defaults: sarifDefaults{"warning"},
			Bag: sarifRuleProps{Tags: []string{"gpu-memory", r.Family()}},
		})
	}
	return out
}

func newSarifResult(f *lint.Finding, all []sarifRule) sarifResult {
	text := f.Message
	if f.From.Cell > 0 {
		text = fmt.Sprintf("cell %d, line %d: %s", f.From.Cell, f.From.Line, text)
	}
	if f.Remedy != "" {
		text += ". " + capital(f.Remedy)
	}
	out := sarifResult{
		RuleID: f.Rule, RuleIndex: slices.IndexFunc(all, func(r sarifRule) bool { return r.ID == f.Rule }), Level: sarifLevels[f.Severity],
		Message:      sarifText{Text: text},
		Locations:    []sarifLocation{{Physical: sarifPhysical{sarifFile(f.Path), sarifSpan(f.From.Stored, f.To.Stored)}}},
		Fingerprints: map[string]string{"primaryLocationLineHash": f.Fingerprint},
		Bag:          sarifResultProps{Confidence: f.Confidence.String(), Cell: f.From.Cell},
	}
	for i, r := range f.Related[:min(len(f.Related), sarifMaxRelated)] {
		at := f.Places[i].Stored
		out.Related = append(out.Related, sarifLocation{ID: i + 1, Physical: sarifPhysical{sarifFile(f.Path), sarifSpan(at, at)}, Message: &sarifText{Text: r.What}})
	}
	if f.Fix != nil && f.From.Cell == 0 { // in a notebook the text would have to be escaped
		out.Fixes = []sarifFix{newSarifFix(f)}
	}
	return out
}

func newSarifFix(f *lint.Finding) sarifFix {
	change := sarifChange{Artifact: sarifFile(f.Path)}
	for i, e := range f.Fix.Edits {
		change.Replacements = append(change.Replacements, sarifReplacement{*sarifSpan(f.Edits[i][0].Stored, f.Edits[i][1].Stored), sarifText{Text: e.Text}})
	}
	return sarifFix{sarifText{Text: f.Fix.What}, []sarifChange{change}}
}

// sarifSpan is a region. Its end is behind its last character, as SARIF has it.
func sarifSpan(from, to syntax.Position) *sarifRegion {
	return &sarifRegion{StartLine: from.Line, StartColumn: from.Column, EndLine: to.Line, EndColumn: to.Column}
}

// sarifFile names a file relative to the repository, or by its whole path where it is not in it.
func sarifFile(name string) sarifArtifact {
	if path.IsAbs(name) || len(name) > 1 && name[1] == ':' {
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(name, "/")}).String()}
	}
	return sarifArtifact{URI: (&url.URL{Path: name}).EscapedPath(), Base: sarifRoot}
}

// sarifNotices tells what there is to know of the run.
func sarifNotices(r *lint.Result) sarifInvocation {
	out := sarifInvocation{Successful: true, Notices: []sarifNotification{}}
	for _, n := range r.Notices {
		level := "warning"
		switch {
		case n.Kind == lint.Unread:
			level, out.Successful = "error", false
		case n.Minor():
			level = "note"
		}
		note := sarifNotification{Level: level, Message: sarifText{Text: n.File + ": " + n.Text}}
		if n.Path != "" {
			at := sarifPhysical{Artifact: sarifFile(n.Path)}
			if n.At.Line > 0 && n.At.Cell == 0 {
				at.Region = &sarifRegion{StartLine: n.At.Line}
			}
			note.Locations = []sarifLocation{{Physical: at}}
		}
		out.Notices = append(out.Notices, note)
	}
	return out
}
