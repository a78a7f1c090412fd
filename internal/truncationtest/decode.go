package truncationtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/internal/text"
)

// Object returns the attributes that an object of package attrjson holds, with their escapes undone.
func Object(object string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(object))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("%w in %s", err, object)
	}
	return unescaped(m).(map[string]any), nil
}

func unescaped(v any) any {
	switch v := v.(type) {
	case string:
		return text.UnescapeJSON(v)
	case []any:
		for i := range v {
			v[i] = unescaped(v[i])
		}
	case map[string]any:
		for key, value := range v {
			v[key] = unescaped(value)
		}
	}
	return v
}

// Fields returns the fields of an event, those included that the encoder had to move to a struct "_overflow".
func Fields(ev *eventheader.Event) (map[string]any, error) {
	var c eventheader.Cursor
	c.Reset(ev)
	m := members(&c)
	return m, c.Err()
}

// members returns the rest of a struct, or of the event.
func members(c *eventheader.Cursor) map[string]any {
	m := map[string]any{}
	for c.Next() && c.Item() != eventheader.ItemStructEnd {
		name, value := string(c.NameBytes()), fieldValue(c)
		if more, ok := value.(map[string]any); ok && name == "_overflow" {
			maps.Copy(m, more)
		} else {
			m[name] = value
		}
	}
	return m
}

func fieldValue(c *eventheader.Cursor) any {
	switch c.Item() {
	case eventheader.ItemStruct:
		return members(c)
	case eventheader.ItemArray:
		list := []any{}
		for c.Next() && c.Item() != eventheader.ItemArrayEnd {
			list = append(list, fieldValue(c))
		}
		return list
	}
	switch v := c.Value(); v.Format() {
	case eventheader.FormatDefault:
		return nil
	case eventheader.FormatUnsigned, eventheader.FormatSigned:
		return int64(v.Uint64())
	case eventheader.FormatBool:
		return v.Uint64() == 1
	case eventheader.FormatFloat:
		return v.Float64()
	case eventheader.FormatHexBytes:
		return bytes.Clone(v.Raw())
	default:
		return text.Unescape(string(v.Text()))
	}
}
