package declared

import (
	"strings"

	"github.com/userevents/userevents-go/encode/typed"
)

// EventName returns the name of a record's event without the adapter's: the one that was
// asked for, or else what [typed.FieldName] makes of what selects the record.
func EventName(asked, selector string) string {
	if asked != "" {
		return asked
	}
	return typed.FieldName(selector)
}

// FieldName returns the name of an attribute's field: the one that was asked for, or else
// what [typed.FieldName] makes of the key, with the unit behind it.
func FieldName(asked, key string, t Type) string {
	if asked != "" {
		return asked
	}
	name, unit := typed.FieldName(key), ""
	if t < types {
		unit = info[t].unit
	}
	return strings.TrimSuffix(name, unit) + unit
}
