package ueventstrace_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/internal/text"
)

// member is a member of an object: the order counts, and a key may be there twice.
type member struct {
	key   string
	value any // an attribute.Value, string, json.Number, bool, []member or []any
}

// ordered returns the members of an object in JSON, in their order.
func ordered(s string) []member {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	v, err := orderedValue(d)
	if err != nil {
		panic(fmt.Sprint(err, ": ", s))
	}
	return v.([]member)
}

func orderedValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		object := []member{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := orderedValue(d)
			if err != nil {
				return nil, err
			}
			object = append(object, member{key.(string), v})
		}
		_, err = d.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := orderedValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return t, nil
}

// plain returns a value in the form that JSON has in an encoding: of the Common Schema, as EventHeader's decoder prints it.
func plain(v attribute.Value, commonSchema bool) any {
	switch v.Type() {
	case attribute.STRING:
		return v.AsString()
	case attribute.INT64:
		return json.Number(strconv.FormatInt(v.AsInt64(), 10))
	case attribute.BOOL:
		return v.AsBool()
	case attribute.FLOAT64:
		return v.AsFloat64()
	case attribute.BYTESLICE:
		if commonSchema {
			return strings.TrimSpace(fmt.Sprintf("% x", v.AsByteSlice()))
		}
		return base64.StdEncoding.EncodeToString(v.AsByteSlice())
	case attribute.MAP:
		return plainMap(v.AsMap(), commonSchema)
	case attribute.EMPTY:
		return nil
	}
	list := []any{}
	for _, e := range v.AsSlice() {
		list = append(list, plain(e, false))
	}
	for _, e := range v.AsStringSlice() {
		list = append(list, e)
	}
	for _, e := range v.AsInt64Slice() {
		list = append(list, plain(attribute.Int64Value(e), false))
	}
	for _, e := range v.AsBoolSlice() {
		list = append(list, e)
	}
	for _, e := range v.AsFloat64Slice() {
		list = append(list, e)
	}
	return list
}

func plainMap(attributes []attribute.KeyValue, commonSchema bool) []member {
	object := []member{}
	for _, kv := range attributes {
		object = append(object, member{string(kv.Key), kv.Value})
	}
	return plainMembers(object, commonSchema)
}

func plainMembers(object []member, commonSchema bool) []member {
	out := []member{}
	for _, m := range object {
		switch v := m.value.(type) {
		case attribute.Value:
			m.value = plain(v, commonSchema)
			if commonSchema && (v.Type() == attribute.SLICE || v.Type() == attribute.MAP && len(v.AsMap()) == 0) {
				m.value = jsonText{plain(v, false)}
			}
		case []member:
			m.value = plainMembers(v, commonSchema)
		}
		out = append(out, m)
	}
	return out
}

// jsonText is a value that is in a text.
type jsonText struct{ value any }

// differ returns where what an encoding says differs from a plain value, or "". Texts of the Common Schema are escaped.
func differ(want, got any, commonSchema bool) string {
	switch w := want.(type) {
	case []member:
		g, ok := got.([]member)
		if !ok || len(w) != len(g) {
			return fmt.Sprintf("want %v, got %v", want, got)
		}
		for i := range w {
			if w[i].key != g[i].key {
				return fmt.Sprintf("want %s, got %s", w[i].key, g[i].key)
			}
			if d := differ(w[i].value, g[i].value, commonSchema); d != "" {
				return w[i].key + ": " + d
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return fmt.Sprintf("want %v, got %v", want, got)
		}
		for i := range w {
			if d := differ(w[i], g[i], commonSchema); d != "" {
				return fmt.Sprint(i, ": ", d)
			}
		}
		return ""
	case jsonText:
		s, _ := got.(string)
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		v, err := orderedValue(d)
		if err != nil {
			return fmt.Sprintf("%v: %q", err, s)
		}
		return differ(w.value, v, false)
	case string:
		if s, ok := got.(string); ok && commonSchema {
			got = text.Unescape(s)
		}
	case float64:
		if n, ok := got.(json.Number); ok {
			f, err := n.Float64()
			if err == nil && math.Float64bits(f) == math.Float64bits(w) {
				return ""
			}
		}
		want = map[bool]string{math.IsNaN(w): "NaN", math.IsInf(w, 1): "Infinity", math.IsInf(w, -1): "-Infinity"}[true]
	}
	if want != got {
		return fmt.Sprintf("want %#v, got %#v", want, got)
	}
	return ""
}
