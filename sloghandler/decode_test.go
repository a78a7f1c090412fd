package sloghandler_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// attached returns a handler with a tracing tool attached to all of its events.
func attached(t *testing.T, o sloghandler.Options) (*sloghandler.Handler, *ueventstest.Tool) {
	t.Helper()
	k := ueventstest.New(t, nil)
	o.Provider = k.Provider()
	h, err := sloghandler.New("app", &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, h.Close())
		require.NoError(t, o.Provider.Close())
	})
	tr, err := k.Attach(ueventstest.Ftrace, "app_*")
	require.NoError(t, err)
	return h, tr
}

// decodedRecord is a record.
type decodedRecord struct {
	event      string
	fields     map[string]string
	json       string // the attributes
	attributes map[string]any
}

// originals decodes the records of a tool that is attached to several events, without the copies: the level's event
// has a declared record too, and says so in the field duplicate.
func originals(t *testing.T, tr *ueventstest.Tool) (records []decodedRecord) {
	t.Helper()
	for _, raw := range tr.Records() {
		if r := decoded(t, raw); r.fields["duplicate"] != "1" {
			records = append(records, r)
		}
	}
	return records
}

// only returns the only record that is not a copy.
func only(t *testing.T, tr *ueventstest.Tool) decodedRecord {
	t.Helper()
	records := originals(t, tr)
	require.Len(t, records, 1)
	return records[0]
}

func decoded(t *testing.T, raw ueventstest.Record) decodedRecord {
	t.Helper()
	r := decodedRecord{event: raw.Declaration.Name, fields: map[string]string{}}
	typedRecord := decode(t, raw.Declaration, raw.Payload)
	for _, f := range raw.Declaration.Fields {
		r.fields[f.Name] = field(t, typedRecord, f.Name)
	}
	r.json = r.fields["attributes"]
	require.NoError(t, json.Unmarshal([]byte(r.json), &r.attributes), r.json)
	return r
}

func decode(t *testing.T, d tracepoint.Declaration, payload []byte) typed.Record {
	t.Helper()
	decoder, err := typed.NewDecoder(d, nil)
	require.NoError(t, err)
	r, err := decoder.Decode(payload)
	require.NoError(t, err)
	return r
}

// field returns a field's value as text.
func field(t *testing.T, r typed.Record, name string) string {
	t.Helper()
	v, ok := r.Lookup(name)
	require.True(t, ok, name)
	return string(v.AppendTo(nil))
}

func attributes(t *testing.T, r typed.Record) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(field(t, r, "attributes")), &m), field(t, r, "attributes"))
	return m
}

// toMap turns a record into what testing/slogtest looks at.
func toMap(t *testing.T, r typed.Record) map[string]any {
	m := attributes(t, r)
	if ns, _ := r.Lookup("time_unix_nano"); ns.Uint64() != 0 {
		m[slog.TimeKey] = time.Unix(0, int64(ns.Uint64()))
	}
	m[slog.LevelKey] = field(t, r, "level")
	m[slog.MessageKey] = field(t, r, "message")
	return m
}

// one returns the only record.
func one(t *testing.T, tr *ueventstest.Tool) typed.Record {
	t.Helper()
	records := tr.Records()
	require.Len(t, records, 1)
	assert.Zero(t, tr.Oversized())
	return decode(t, records[0].Declaration, records[0].Payload)
}

// HTTPRequest is the declared record that tests log.
type HTTPRequest struct {
	Method  string        `uevent:"method"`
	Route   string        `uevent:"route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
}

var httpRequest = sloghandler.Declare[HTTPRequest]("http request", nil)
