package sloghandler

import (
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strconv"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
)

// changes reports whether the program may change what is written of a value. That of a type such as slog.Level stays.
func changes(v any) bool {
	if v == nil {
		return false
	}
	kind := reflect.TypeOf(v).Kind()
	return kind > reflect.Complex128 && kind != reflect.String
}

// frozenValue returns a value that is written as v is now, and how many values in it were dropped since they are too
// deep. It is of a plain kind if one is written the same, and else JSON.
func frozenValue(v any) (frozen slog.Value, dropped int) {
	if err, ok := v.(error); ok {
		if _, ok := v.(json.Marshaler); !ok {
			return slog.StringValue(attrjson.ErrorText(err)), 0
		}
	}
	buf := bufpool.Get()
	w := attrjson.Begin(*buf, attrjson.NoLimit)
	w.Key("")
	w.Any(v)
	object, dropped := w.End(attrjson.KeepAll)
	frozen = plainValue(object[len(`{"":`) : len(object)-len(`}`)])
	*buf = object
	bufpool.Put(buf)
	return frozen, dropped
}

// plainValue returns JSON as a value of a plain kind, if that is written the same.
func plainValue(raw []byte) slog.Value {
	switch raw[0] {
	case '{', '[':
	case 'n':
		return slog.AnyValue(nil)
	case 't', 'f':
		return slog.BoolValue(raw[0] == 't')
	case '"':
		var quoted string
		if json.Unmarshal(raw, &quoted) == nil {
			return slog.StringValue(text.UnescapeJSON(quoted))
		}
	default:
		token := string(raw)
		if i, err := strconv.ParseInt(token, 10, 64); err == nil && token != "-0" {
			return slog.Int64Value(i)
		}
		if u, err := strconv.ParseUint(token, 10, 64); err == nil {
			return slog.Uint64Value(u)
		}
		if f, err := strconv.ParseFloat(token, 64); err == nil && (string(attrjson.AppendFloat(nil, f)) == token || string(text.AppendFloat(nil, f, 64)) == token) {
			return slog.Float64Value(f)
		}
	}
	return slog.AnyValue(json.RawMessage(slices.Clone(raw)))
}
