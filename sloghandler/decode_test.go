package sloghandler_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// attached returns a handler with a tracing tool attached to all of its events.
func attached(t *testing.T, o sloghandler.Options) (*sloghandler.Handler, *ueventstest.Tool) {
	t.Helper()
	h, k := newHandler(t, o)
	return h, attach(t, k, "app_*")
}

// newHandler returns a handler whose events are disabled, and the simulated kernel.
func newHandler(t *testing.T, o sloghandler.Options) (*sloghandler.Handler, *ueventstest.Kernel) {
	t.Helper()
	k := ueventstest.New(t, nil)
	o.Provider = k.Provider()
	h, err := sloghandler.New("app", &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, h.Close())
		require.NoError(t, o.Provider.Close())
	})
	return h, k
}

func attach(t *testing.T, k *ueventstest.Kernel, events ...string) *ueventstest.Tool {
	t.Helper()
	tr := recordtest.Attach(t, k, ueventstest.Ftrace, events...)
	return tr
}

// declaring returns the options of a handler with declarations.
func declaring(d ...sloghandler.AnyDeclaration) sloghandler.Options {
	return sloghandler.Options{Declarations: d}
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
	r := recordtest.Decode(t, d, payload)
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

// logged is a record as two handlers can have it in common.
type logged struct {
	message    string
	attributes members
	err        error // it is not JSON
	truncated  int
}

// readRecord returns what a record of ours says.
func readRecord(t *testing.T, raw ueventstest.Record) (l logged) {
	t.Helper()
	r := decode(t, raw.Declaration, raw.Payload)
	l.message = text.Unescape(field(t, r, "message"))
	var err error
	l.truncated, err = strconv.Atoi(field(t, r, "truncated"))
	require.NoError(t, err)
	value, err := parse([]byte(field(t, r, "attributes")), text.UnescapeJSON)
	require.NoError(t, err, field(t, r, "attributes"))
	l.attributes = value.(members)
	return l
}

// members are an object, in order and with duplicates. Other values are nil, bool, numbers as their text, string in quotes,
// and []any.
type members []member

type member struct {
	key   string
	value any
}

// parse parses what a handler wrote as JSON. Each string is given to a function.
func parse(b []byte, unescape func(string) string) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := parseValue(d, unescape)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something is behind the object")
	}
	return v, nil
}

func parseValue(d *json.Decoder, unescape func(string) string) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		object, list, array := members(nil), []any{}, token == '['
		for d.More() {
			var key string
			if !array {
				k, err := d.Token()
				if err != nil {
					return nil, err
				}
				key = unescape(k.(string))
			}
			v, err := parseValue(d, unescape)
			if err != nil {
				return nil, err
			}
			if array {
				list = append(list, v)
			} else {
				object = append(object, member{key, v})
			}
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		if array {
			return list, nil
		}
		return object, nil
	case json.Number:
		return number(token), nil
	case string:
		return comparable(unescape(token)), nil
	}
	return token, nil
}

// number returns a number in the one form that its value has, as text that is no string of JSON.
func number(n json.Number) json.Number {
	if _, err := strconv.ParseUint(strings.TrimPrefix(string(n), "-"), 10, 64); err == nil {
		return n
	}
	if f, err := n.Float64(); err == nil {
		return json.Number(text.AppendFloat(nil, f, 64))
	}
	return n
}

// stack is where a LogValuer panicked, which names the handler's functions.
var stack = regexp.MustCompile(`(?s)^LogValue panicked\n.*`)

// comparable returns a text without what is another one in each handler.
func comparable(s string) string { return stack.ReplaceAllString(s, "LogValue panicked") }
