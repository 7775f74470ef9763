package places

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// config judges documents of YAML, TOML or JSON: what every one of them may have, and
// what compose and Kubernetes mean by them.
func (f *file) config(documents []*tree) {
	for _, d := range documents {
		d.all(func(t *tree) {
			here := settingsIn(t)
			for i := range here {
				f.variable(&here[i])
			}
			if !f.template {
				f.alone(here)
			}
		})
		f.kubernetes(d)
		if !f.template {
			f.compose(d)
			f.accelerate(d)
		}
	}
}

// settingsIn reads the variables that a piece sets right below it, in any of the usual
// forms: as keys, as a list of NAME=value, as a list of name and value.
func settingsIn(t *tree) []setting {
	var all []setting
	for _, p := range t.keys {
		if p.value.kind == scalarTree && looksLikeVariable(p.key.text) {
			all = append(all, setting{
				name: p.key.text, value: p.value.text, at: span{p.key.at.start, p.value.at.end}, valueAt: p.value.bytes,
				unknown: isTemplate(p.value.text),
			})
		}
	}
	for _, item := range t.items {
		if s, ok := settingOfItem(item); ok {
			all = append(all, s)
		}
	}
	return all
}

// settingOfItem reads NAME=value, or a map with name and value.
func settingOfItem(item *tree) (setting, bool) {
	if item.kind == scalarTree {
		return settingOfWord(word{text: item.text, known: !isTemplate(item.text), at: item.at, bytes: item.bytes})
	}
	name, value := item.get("name"), item.get("value")
	if name == nil || value == nil || value.kind != scalarTree || !syntax.ValidName(name.text) {
		return setting{}, false
	}
	return setting{name: name.text, value: value.text, unknown: isTemplate(value.text), at: value.at, valueAt: value.bytes}, true
}

// looksLikeVariable tells whether a key is written as variables of the environment are.
func looksLikeVariable(key string) bool {
	return syntax.ValidName(key) && key == strings.ToUpper(key)
}
