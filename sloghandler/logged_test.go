package sloghandler_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

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
