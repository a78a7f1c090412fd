package sloghandler

import (
	"encoding"
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/adapter/declared"
	"github.com/userevents/userevents-go/internal/typedfield"
)

type field struct {
	declared.Field
	kind slog.Kind // of the values that mostly come
}

func newFields(list []declared.Field) []field {
	kinds := map[typedfield.GoKind]slog.Kind{
		typedfield.GoString: slog.KindString, typedfield.GoBool: slog.KindBool, typedfield.GoFloat: slog.KindFloat64,
		typedfield.GoDuration: slog.KindDuration, typedfield.GoTime: slog.KindTime,
	}
	fields := make([]field, len(list))
	for i, f := range list {
		kind, ok := kinds[f.Kind]
		if !ok {
			kind = slog.KindInt64
		}
		fields[i] = field{f, kind}
	}
	return fields
}

// value returns a value of the field, as a number or a text, if it can hold v, which is of a kind.
func (f *field) value(v slog.Value, kind slog.Kind) (num uint64, text string, ok bool) {
	if kind != f.kind || f.Scale != 0 {
		return f.convert(v)
	}
	switch kind {
	case slog.KindString:
		return 0, v.String(), true
	case slog.KindInt64:
		n := v.Int64()
		return uint64(n), "", n >= f.Min && n <= f.Max
	case slog.KindDuration:
		return uint64(v.Duration()), "", true
	case slog.KindBool:
		return uint64(typedfield.Bool(v.Bool())), "", true
	default:
		return f.convert(v)
	}
}

// convert returns the value of a field, as a number or a text, if nothing of v is lost and nothing has to be guessed: a
// duration or a time has no unit as a number, and a truth value is none.
func (f *field) convert(v slog.Value) (num uint64, text string, ok bool) {
	kind := v.Kind()
	if kind == slog.KindAny {
		if v, ok = basic(v.Any(), f.Kind); !ok {
			return 0, "", false
		}
		kind = v.Kind()
	}
	switch kind {
	case slog.KindString:
		// The text of a number has no unit either. That of a duration always ends in one.
		if f.Kind == typedfield.GoDuration && !strings.HasSuffix(v.String(), "s") {
			return 0, "", false
		}
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64:
		if f.Kind == typedfield.GoDuration || f.Kind == typedfield.GoTime || f.Kind == typedfield.GoBool {
			return 0, "", false
		}
	case slog.KindBool:
		if f.Kind != typedfield.GoBool && f.Kind != typedfield.GoString {
			return 0, "", false
		}
	case slog.KindDuration:
		if f.Kind != typedfield.GoDuration && f.Kind != typedfield.GoString {
			return 0, "", false
		}
	default:
	}
	return f.Convert(v)
}

// basic returns a value of a named type, such as time.Month, as one of the plain kind below
// it. For a field that holds text, the text that the type itself makes of a value comes first. It is not ok if a method of the
// program panics: the attribute, which stays one, tells.
func basic(v any, kind typedfield.GoKind) (out slog.Value, ok bool) {
	defer func() { _ = recover() }()
	if kind == typedfield.GoString {
		switch v := v.(type) {
		case error:
			return slog.StringValue(v.Error()), true
		case encoding.TextMarshaler:
			text, err := v.MarshalText()
			return slog.StringValue(string(text)), err == nil
		case interface{ String() string }:
			return slog.StringValue(v.String()), true
		}
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		return slog.StringValue(r.String()), true
	case reflect.Bool:
		return slog.BoolValue(r.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return slog.Int64Value(r.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return slog.Uint64Value(r.Uint()), true
	case reflect.Float32, reflect.Float64:
		return slog.Float64Value(r.Float()), true
	default:
		return out, false
	}
}

// index finds the declared fields that an attribute may belong to.
type index []indexEntry

// indexEntry is a way to name a declared field by an attribute. A field whose key has dots has several: the parts before a dot may
// be names of groups around the attribute.
type indexEntry struct {
	name   string // key of the attribute
	groups string // innermost groups that it must be in, with dots between their names
	*field
	at   int         // number of the field
	sole bool        // no other entry has the name, and no group is needed
	next *indexEntry // of the field behind this one; nil behind the last
}

func newIndex(fields []field) index {
	var x index
	for i := range fields {
		for _, key := range fields[i].Keys() {
			x = append(x, indexEntry{name: key, field: &fields[i], at: i, sole: true})
			for dot := range key {
				if key[dot] == '.' {
					x = append(x, indexEntry{name: key[dot+1:], groups: key[:dot], field: &fields[i], at: i})
				}
			}
		}
	}
	// The most specific first: an attribute id in the group user is for user.id before it is for id.
	slices.SortStableFunc(x, func(a, b indexEntry) int { return len(b.groups) - len(a.groups) })
	for i := range x {
		e := &x[i]
		for j := range x {
			e.sole = e.sole && (i == j || e.name != x[j].name)
		}
		e.next = x.behind(e.at)
	}
	return x
}

// behind returns the first entry, without groups, of the field behind the one with that number; nil behind the last.
func (x index) behind(at int) (next *indexEntry) {
	for i := range x {
		if e := &x[i]; e.at > at && e.groups == "" && (next == nil || e.at < next.at) {
			next = e
		}
	}
	return next
}

func (x index) find(name string) *indexEntry {
	for i := range x {
		if x[i].name == name {
			return &x[i]
		}
	}
	return nil
}

// has reports whether one of the attributes, which are in these groups, may be for a field.
func (x index) has(attrs []slog.Attr, groups []string) bool {
	return slices.ContainsFunc(attrs, func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindGroup {
			return x.has(a.Value.Group(), within(groups, a.Key))
		}
		return slices.ContainsFunc(x, func(e indexEntry) bool {
			_, ok := inGroups(e.groups, groups)
			return ok && e.name == a.Key
		})
	})
}

// within returns the groups that are open in a group. One without a name is none.
func within(groups []string, name string) []string {
	if name == "" {
		return groups
	}
	return append(slices.Clip(groups), name)
}

// inGroups reports whether the innermost of the groups are those of a declared key, and how many there are around them.
func inGroups(declared string, groups []string) (outer int, ok bool) {
	outer = len(groups)
	for declared != "" {
		if outer--; outer < 0 {
			return 0, false
		}
		rest, ok := strings.CutSuffix(declared, groups[outer])
		if rest != "" {
			rest, ok = strings.CutSuffix(rest, ".")
			ok = ok && rest != ""
		}
		if !ok {
			return 0, false
		}
		declared = rest
	}
	return outer, true
}
