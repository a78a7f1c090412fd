package typedfield

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/tracepoint"
)

// tagKey is the key of struct tags.
const tagKey = "uevent"

// builder collects the fields of a struct type, in order.
type builder struct {
	fields []builtField
	paths  map[string]string // Go path by field name
}

// builtField is a field and the step that writes it.
type builtField struct {
	StructField
	step step
}

// build collects the fields of the struct type t, and returns their layout as an event.
func (b *builder) build(t reflect.Type, event string) (*Layout, error) {
	if err := b.addStruct(t, 0, "", ""); err != nil {
		return nil, err
	}
	d := tracepoint.Declaration{Name: event}
	ids := 0
	for _, f := range b.fields {
		d.Fields = append(d.Fields, f.Field)
		ids += f.step.idSize()
	}
	l, err := NewLayout(d)
	if err != nil {
		return nil, err
	}
	if l.fixed+ids >= DefaultLimit {
		return nil, fmt.Errorf("%w: numbers and byte arrays take %d bytes, as byte arrays are written as hex digits, and tracing tools keep less than %d: write long arrays as slices",
			tracepoint.ErrInvalid, l.fixed+ids, DefaultLimit)
	}
	return l, nil
}

// addStruct adds the fields of the struct t that is at offset. Path is where it is in
// terms of Go, prefix where its fields' names begin; both are empty or end in a dot.
func (b *builder) addStruct(t reflect.Type, offset uintptr, path, prefix string) error {
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("%w: %v is not a struct", tracepoint.ErrInvalid, t)
	}
	before := len(b.fields)
	for i := range t.NumField() {
		f := t.Field(i)
		if err := b.addField(f, offset+f.Offset, path+f.Name, prefix); err != nil {
			return err
		}
	}
	if len(b.fields) == before {
		return fmt.Errorf("%w: %s: %v has no exported fields%s", tracepoint.ErrInvalid, where(path), t, advice(t))
	}
	return nil
}

func (b *builder) addField(f reflect.StructField, offset uintptr, path, prefix string) error {
	fail := func(problem string) error {
		return fmt.Errorf("%w: %s: %s", tracepoint.ErrInvalid, where(path), problem)
	}
	text, tagged := f.Tag.Lookup(tagKey)
	if text == "-" {
		return nil
	}
	tag, problem := parseTag(text)
	if problem != "" {
		return fail(problem)
	}
	flatten := isPlainStruct(f.Type)
	switch {
	case f.IsExported() || f.Anonymous && flatten:
	case tagged:
		return fail("has a tag, but is not exported")
	default:
		return nil
	}
	name := tag.name
	if name == "" {
		name = f.Name
	}
	if flatten && tag.option == "" {
		if f.Anonymous && tag.name == "" {
			return b.addStruct(f.Type, offset, path+".", prefix)
		}
		return b.addStruct(f.Type, offset, path+".", prefix+name+".")
	}

	typ, s, problem := represent(f.Type, tag)
	if problem != "" {
		return fail(problem)
	}
	s.field = offset
	key := prefix + name
	name = FieldName(key)
	if other, taken := b.paths[name]; taken {
		return fail(fmt.Sprintf("its name %s is taken by %s", name, where(other)))
	}
	b.paths[name] = path
	described := StructField{Field: tracepoint.Field{Name: name, Type: typ}, Key: key, Scale: tag.scale}
	described.Kind, described.Bits = s.code.goKind(f.Type)
	b.fields = append(b.fields, builtField{described, s})
	return nil
}

// where names a field in an error.
func where(path string) string {
	if path == "" {
		return "the struct"
	}
	return "field " + strings.TrimSuffix(path, ".")
}

// fieldTag is a parsed struct tag: a name and at most one option.
type fieldTag struct {
	name   string
	option string
	scale  int // with option scale
}

const (
	optionUUID  = "uuid"
	optionText  = "text"
	optionRaw   = "raw"
	optionScale = "scale"
)

func parseTag(s string) (fieldTag, string) {
	name, option, _ := strings.Cut(s, ",")
	t := fieldTag{name: name, option: option}
	switch option {
	case "", optionUUID, optionText, optionRaw:
		return t, ""
	}
	if digits, ok := strings.CutPrefix(option, optionScale+"="); ok {
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil || n < 1 {
			return t, fmt.Sprintf("scale %q is not a positive integer", digits)
		}
		t.option, t.scale = optionScale, int(n)
		return t, ""
	}
	return t, fmt.Sprintf("unknown option %q", option)
}
