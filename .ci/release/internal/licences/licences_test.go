package licences

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	mit    = "Permission is hereby granted, free of charge, to any person\nobtaining a copy ... this permission notice shall be\n included"
	apache = "                  Apache License\n            Version 2.0, January 2004"
	bsd    = "Redistribution and use in source and binary forms, with or without"
)

func TestClassify(t *testing.T) {
	for text, want := range map[string][]string{
		mit:                                 {"MIT"},
		apache:                              {"Apache-2.0"},
		bsd:                                 {"BSD-2-Clause"},
		bsd + " ... Neither the name of":    {"BSD-3-Clause"},
		apache + mit:                        {"Apache-2.0", "MIT"},
		"GNU Lesser General Public License": {"LGPL"},
		"Mozilla Public License Version 2.0 ... the GNU General Public License": {"MPL-2.0"},
		"SQLite Is Public Domain": {"Public-Domain"},
		"All rights reserved.":    nil,
		"":                        nil,
	} {
		assert.Equal(t, want, classify(text), text)
	}
}

// cache writes modules as the module cache has them, and what go list says of a package in each: FILE or PACKAGE/FILE by module.
func cache(t *testing.T, modules map[string]map[string]string) []byte {
	t.Helper()
	var list []byte
	root := t.TempDir()
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		dir := filepath.Join(root, path)
		pkg := filepath.Join(dir, "sub", "pkg")
		require.NoError(t, os.MkdirAll(pkg, 0o700))
		for name, text := range modules[path] {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		one, err := json.Marshal(map[string]any{"Dir": pkg, "Module": map[string]string{"Path": path, "Version": "v1.0.0", "Dir": dir}})
		require.NoError(t, err)
		list = append(list, one...)
	}
	return append(list, `{"Dir":"/go/src/fmt","Standard":true}{"Dir":"/ours","Module":{"Path":"ours"}}`...)
}

func ours(path string) bool { return path == "ours" }

// TestSet: licences of the module and of the package's directory count, notices are passed on, own modules are left out.
func TestSet(t *testing.T) {
	s := Set{}
	require.NoError(t, s.Add(cache(t, map[string]map[string]string{
		"a": {"LICENSE": mit, "sub/pkg/COPYING.txt": bsd, "sub/NOTICE": "By A.", "license.go": "package a", "LICENSE-LOGO": "A picture."},
		"b": {"Licence.md": apache},
	}), "cmd", ours))
	require.NoError(t, s.Add(cache(t, map[string]map[string]string{"c": {"LICENSE": "GNU General Public License"}, "b": {"Licence.md": apache}}), "", ours))
	require.NoError(t, s.Check(), "tests may use any licence")
	assert.Equal(t, `| Module | Version | Licence | Linked into |
|---|---|---|---|
| a | v1.0.0 | BSD-2-Clause, MIT | cmd |
| b | v1.0.0 | Apache-2.0 | cmd |
| c | v1.0.0 | GPL | tests only |
`, s.Table())
	texts, err := s.Texts("cmd")
	require.NoError(t, err)
	assert.Equal(t, 4, strings.Count(texts, "== "))
	assert.Contains(t, texts, "== a v1.0.0: sub/NOTICE\n\nBy A.\n")
	assert.NotContains(t, texts, "GNU")
}

// TestSetProblems: a module without a licence, with an unknown one, or with one that binds the program.
func TestSetProblems(t *testing.T) {
	assert.ErrorContains(t, Set{}.Add(cache(t, map[string]map[string]string{"a": {"LICENSE": "All rights reserved."}}), "", ours), "a v1.0.0: no known licence in LICENSE")
	s := Set{}
	require.NoError(t, s.Add(cache(t, map[string]map[string]string{"a": {"NOTICE": mit}, "c": {"LICENSE": "GNU General Public License"}}), "cmd", ours))
	err := s.Check()
	assert.ErrorContains(t, err, "a v1.0.0 has no file with a licence")
	assert.ErrorContains(t, err, "c v1.0.0, which cmd links, has the licence GPL")
}
