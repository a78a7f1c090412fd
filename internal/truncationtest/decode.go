package truncationtest

import (
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

// Fields returns the fields of an event or a struct of EventHeader, those included that the encoder had to move to
// [eventheader.OverflowField].
func Fields(nodes []eventheader.Node) (map[string]any, error) {
	m := make(map[string]any, len(nodes))
	for _, n := range nodes {
		if n.Name == eventheader.OverflowField {
			more, err := Fields(n.Value.([]eventheader.Node))
			if err != nil {
				return nil, err
			}
			maps.Copy(m, more)
			continue
		}
		value, err := fieldValue(n.Value)
		if err != nil {
			return nil, err
		}
		m[n.Name] = value
	}
	return m, nil
}

func fieldValue(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return text.Unescape(v), nil
	case uint64:
		return int64(v), nil
	case []eventheader.Node:
		return Fields(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			value, err := fieldValue(v[i])
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return list, nil
	}
	return v, nil
}
