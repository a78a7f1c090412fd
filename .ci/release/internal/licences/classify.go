// Package licences lists the modules of other projects that programs link, with their licences.
package licences

import "strings"

// phrases identify licences by words that only their texts have, in lower case with single spaces.
var phrases = []struct {
	id  string
	all []string
	not string // "": nothing
}{
	{"Apache-2.0", []string{"apache license", "version 2.0"}, ""},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}, "neither the name"},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}, ""},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"}, ""},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy", "this permission notice shall be included"}, ""},
	{"MPL-2.0", []string{mozilla, "version 2.0"}, ""},
	{"Public-Domain", []string{"public domain"}, "redistribution"},
	{"GPL", []string{"gnu general public license"}, mozilla},
	{"LGPL", []string{"gnu lesser general public license"}, mozilla},
}

const mozilla = "mozilla public license" // whose text names those of GNU

// linkable are the licences that permit linking a library into any program. MPL-2.0 asks for the sources of its own files only.
var linkable = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Public-Domain"}

// classify returns the licences that a file is the text of, by their SPDX identifiers.
func classify(text string) (ids []string) {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
next:
	for _, p := range phrases {
		if p.not != "" && strings.Contains(text, p.not) {
			continue
		}
		for _, phrase := range p.all {
			if !strings.Contains(text, phrase) {
				continue next
			}
		}
		ids = append(ids, p.id)
	}
	return ids
}

// isLicence reports whether a file has a licence of code, and isNotice whether it has what a licence asks to pass on with it.
func isLicence(name string) bool {
	return hasPrefix(name, "LICENSE", "LICENCE", "COPYING") && !strings.Contains(name, "LOGO")
}

func isNotice(name string) bool { return hasPrefix(name, "NOTICE", "PATENTS") }

func hasPrefix(name string, prefixes ...string) bool {
	if strings.HasSuffix(name, ".go") {
		return false
	}
	for _, p := range prefixes {
		if strings.HasPrefix(strings.ToUpper(name), p) {
			return true
		}
	}
	return false
}
