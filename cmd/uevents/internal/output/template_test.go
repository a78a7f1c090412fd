package output

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

// TestTemplateNames: a template gets what it can show, and shows the same as one that gets everything.
func TestTemplateNames(t *testing.T) {
	all := []string{"*"}
	for format, want := range map[string][]string{
		"{{.time}} {{.message}} {{.time}}":                                   {"message", "time"},
		`{{index . "key"}}{{index $ "pid"}}{{$.kind}}`:                       {"key", "kind", "pid"},
		`{{if eq .severity "DEBUG"}}{{.message}}{{else}}{{.shard}}{{end}}`:   {"message", "severity", "shard"},
		`{{with .message}}{{.}}{{$.key}}{{else}}{{.event}}{{end}}`:           {"event", "key", "message"},
		`{{$m := .message}}{{$m | printf "%q"}}{{len (index . "key")}}`:      {"key", "message"},
		`{{range $i := len .message}}{{.}}{{end}}`:                           {"message"},
		`{{define "x"}}{{.}}{{len $}}{{end}}{{template "x" .key}}`:           {"*", "key"}, // $ could be the event
		`{{define "x"}}{{.message}}{{end}}{{template "x" .}}`:                {"*", "message"},
		`{{block "x" .}}{{.key}}{{end}}`:                                     {"*", "key"},
		`{{range $k, $v := .}}{{$k}}={{$v}} {{end}}`:                         all,
		`{{range $}}{{.}}{{end}}`:                                            all,
		`{{len .}}`:                                                          all,
		`{{$e := .}}{{$e.key}}`:                                              {"*", "key"},
		`{{$name := "key"}}{{index . $name}}`:                                all,
		`{{if .nosuch}}{{.}}{{end}}`:                                         {"*", "nosuch"},
		`{{/* a comment */}}no field`:                                        nil,
		`{{with .nosuch}}{{else}}{{len .}}{{end}}`:                           {"*", "nosuch"},
		`{{(index . "key") | len}}{{.key | len}}{{slice .message 1 2}}`:      {"key", "message"},
		`{{range 2}}{{continue}}{{break}}{{end}}{{not .key}}{{.fields}}`:     {"fields", "key"},
		`{{.group.key}}{{$.group.other.key}}{{with .group.key}}{{.}}{{end}}`: {"group.key", "group.other.key"},
	} {
		var named, whole bytes.Buffer
		w, err := newTemplate(format, &named, Options{})
		require.NoError(t, err, format)
		got := w.named.names
		if w.named.all {
			got = append([]string{"*"}, got...)
		}
		assert.Equal(t, want, got, format)
		require.NoError(t, w.Write(logEvent()), format)

		w, err = newTemplate(format, &whole, Options{})
		require.NoError(t, err)
		w.named.all, w.parts = true, nil
		require.NoError(t, w.Write(logEvent()))
		assert.Equal(t, whole.String(), named.String(), format)
	}
}

// TestTemplateFields: a field is shown by its name unless a column of the name has a value.
func TestTemplateFields(t *testing.T) {
	ev := &reader.Event{Message: "m", Fields: []reader.Field{{Name: "status", Value: reader.Int64Value(404)}, {Name: "message", Value: reader.StringValue("x")}}}
	assert.Equal(t, "404 m\n", written(t, "{{.status}} {{.message}}", Options{}, ev))
	assert.Equal(t, "404 m map\n", written(t, `{{.status}} {{.message}} {{slice (printf "%T" .) 0 3}}`, Options{}, ev))
}
