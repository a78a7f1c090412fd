package usereventsreceiver

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

// TestReadme: the table of keys has those of the configuration's schema, with the defaults.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Configuration\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\| ([^|]*) \\|").FindAllStringSubmatch(section, -1) {
		rows[m[1]] = m[2]
	}
	text, err = os.ReadFile("config.schema.json")
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(text, &schema))
	defaults := confmap.New()
	require.NoError(t, defaults.Marshal(defaultConfig()))
	for _, key := range keys(t, schema, nil) {
		name := strings.Join(key, ".")
		row, ok := rows[name]
		delete(rows, name)
		if !assert.True(t, ok, "README.md has no key %s", name) {
			continue
		}
		switch want := valueOf(defaults.ToStringMap(), key); want {
		case nil, "":
			assert.Regexp(t, `^(none|all( user events| processes)?)$`, row, name)
		default:
			assert.Equal(t, strings.TrimSuffix(fmt.Sprint(want), "m0s"), strings.TrimSuffix(row, "m"), name)
		}
	}
	assert.Empty(t, rows, "README.md has keys that the configuration does not have")
}

// keys returns the paths of the keys that have no keys of their own.
func keys(t *testing.T, schema map[string]any, path []string) (list [][]string) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	require.NotEmpty(t, properties, "%s", path)
	for name, p := range properties {
		property, at := p.(map[string]any), append(slices.Clip(path), name)
		if property["type"] == "object" {
			list = append(list, keys(t, property, at)...)
		} else {
			list = append(list, at)
		}
	}
	return list
}

// valueOf returns the value at a path, or nil if there is none.
func valueOf(values any, path []string) any {
	for _, name := range path {
		m, ok := values.(map[string]any)
		if !ok {
			return nil
		}
		values = m[name]
	}
	if list, ok := values.([]any); ok && len(list) == 0 {
		return nil
	}
	return values
}
