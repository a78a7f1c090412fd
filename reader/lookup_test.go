package reader

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLookup: a name is that of a field, of a member of a group, or of what a program declared it as.
func TestLookup(t *testing.T) {
	ev := &Event{Fields: []Field{
		{"a", Int64Value(1)},
		{"db.table", StringValue("flat")},
		{"db", MapValue([]Field{{"table", StringValue("group")}, {"rows", Int64Value(3)}, {"x.y", MapValue([]Field{{"z", BoolValue(true)}})}})},
		{"http_route", StringValue("/a")},
		{"user.id", Int64Value(7)},
		{"a", Int64Value(2)},
		{"x__y", Int64Value(9)},
	}}
	for name, want := range map[string]string{
		"a": "2", "db.table": "flat", "db.rows": "3", "db.x.y.z": "true", "http.route": "/a", "http-route": "/a", "user_id": "7", "user.id": "7", "x.-y": "9",
		"db.nothing": "", "rows": "", "": "", ".": "", "a.b": "", "db.": "", "user-id": "", "useraid": "",
	} {
		v, ok := ev.Lookup(name)
		assert.Equal(t, want != "", ok, name)
		if ok {
			assert.Equal(t, want, v.String(), name)
		}
	}
	group, ok := ev.Lookup("db")
	require.True(t, ok)
	v, ok := group.Lookup("x.y.z")
	assert.True(t, ok && v.Bool())
}

// TestValue: the names of conditions are parts of the record, attributes, and attributes of the resource.
func TestValue(t *testing.T) {
	ev := conditionSamples["log"]
	for name, want := range map[string]string{
		"level": "WARN2", "severity_number": "14", "kind": "log", "status": "503", "db.rows": "3", "host.name": "node-1", "trace_id": "4bf92f35000000000000000000000001",
		"program": "payment-service", "duration": "", "nosuch": "", "truncated": "", "fields.status": "503", "resource.status": "resource", "severity": "WARN2", "service": "shop",
	} {
		v, ok := ValueOf(name)(ev)
		assert.Equal(t, want != "", ok, name)
		if ok {
			assert.Equal(t, want, v.String(), name)
		}
	}
	_, ok := ValueOf("level")(conditionSamples["span"])
	assert.False(t, ok)
}

// TestFieldOf: the field of a tracepoint that has the value of a name in all its records.
func TestFieldOf(t *testing.T) {
	for _, c := range []struct{ event, name, want string }{
		{"slog", "level", "level"},
		{"slog", "message", "message"},
		{"slog", "status", ""},
		{"slog", "attributes", "attributes"},
		{"slog", "time_unix_nano", "time_unix_nano"},
		{"slog", "trace_id", "trace_id"},
		{"otel", "level", "severity_number"},
		{"otel", "message", "body"},
		{"span", "duration", "duration_ns"},
		{"span", "name", "name"},
		{"span", "status", ""},
		{"span", "status_code", "status_code"},
		{"span", "kind", ""},
		{"declared", "status", "status"},
		{"declared", "http.route", "http_route"},
		{"declared", "duration", ""},
		{"other", "score", "score"},
		{"other", "level", "level"},
		{"header", "level", ""},
		{"other", "nosuch", ""},
	} {
		f, ok := plannedDecoder(t, c.event).FieldOf(c.name)
		assert.Equal(t, c.want != "", ok, "%s: %s", c.event, c.name)
		assert.Equal(t, c.want, f.Name, "%s: %s", c.event, c.name)
	}
}
