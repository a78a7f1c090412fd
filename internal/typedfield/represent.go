package typedfield

import (
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/tracepoint"
)

const tagKey = "uevent"

type builder struct {
	fields []builtField
	paths  map[string]string // Go path by field name
}

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

var textType = tracepoint.Dynamic(tracepoint.Char)

// wholeTypes are types that are written as a whole, whatever they consist of.
var wholeTypes = map[reflect.Type]struct {
	typ  tracepoint.Type
	code opcode
}{
	reflect.TypeFor[time.Time]():      {tracepoint.Scalar(tracepoint.U64), opTime},
	reflect.TypeFor[netip.Addr]():     {textType, opAddr},
	reflect.TypeFor[netip.AddrPort](): {textType, opAddrPort},
	reflect.TypeFor[netip.Prefix]():   {textType, opPrefix},
}

var numbers = map[reflect.Kind]struct {
	kind tracepoint.Kind
	code opcode
}{
	reflect.Bool:   {tracepoint.U8, opCopy8},
	reflect.Int8:   {tracepoint.S32, opInt8},
	reflect.Int16:  {tracepoint.S32, opInt16},
	reflect.Int32:  {tracepoint.S32, opCopy32},
	reflect.Int64:  {tracepoint.S64, opCopy64},
	reflect.Int:    {tracepoint.S64, opInt},
	reflect.Uint8:  {tracepoint.U8, opCopy8},
	reflect.Uint16: {tracepoint.U16, opCopy16},
	reflect.Uint32: {tracepoint.U32, opCopy32},
	reflect.Uint64: {tracepoint.U64, opCopy64},
	reflect.Uint:   {tracepoint.U64, opUint},
}

// elements are the kinds whose arrays are copied as they are in memory.
var elements = map[reflect.Kind]tracepoint.Kind{
	reflect.Int8:   tracepoint.S8,
	reflect.Int16:  tracepoint.S16,
	reflect.Int32:  tracepoint.S32,
	reflect.Int64:  tracepoint.S64,
	reflect.Uint8:  tracepoint.U8,
	reflect.Uint16: tracepoint.U16,
	reflect.Uint32: tracepoint.U32,
	reflect.Uint64: tracepoint.U64,
}

func isPlainStruct(t reflect.Type) bool {
	_, whole := wholeTypes[t]
	return t.Kind() == reflect.Struct && !whole
}

// represent decides how a Go type is declared and written, or says why it can't be.
func represent(t reflect.Type, tag fieldTag) (tracepoint.Type, step, string) {
	typ, s, ok := representOption(t, tag)
	switch {
	case ok:
		return typ, s, ""
	case tag.option != "":
		return typ, s, fmt.Sprintf("option %s does not apply to %v", tag.option, t)
	}
	return typ, s, fmt.Sprintf("%v is not supported%s", t, advice(t))
}

func representOption(t reflect.Type, tag fieldTag) (tracepoint.Type, step, bool) {
	isBytes := t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	scaled := step{n: tag.scale}
	switch tag.option {
	case optionUUID:
		ok := t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8 && t.Len() == 16
		return textType, step{code: opUUID}, ok
	case optionText:
		return textType, step{code: opTextBytes}, isBytes
	case optionRaw:
		return tracepoint.Dynamic(tracepoint.U8), step{code: opSlice, elem: 1}, isBytes
	case optionScale:
		scaled.code = opScale64
		if t.Kind() == reflect.Float32 {
			scaled.code = opScale32
		}
		return tracepoint.Scalar(tracepoint.S64), scaled, t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64
	}
	if whole, ok := wholeTypes[t]; ok {
		return whole.typ, step{code: whole.code}, true
	}
	if t.PkgPath() == "github.com/userevents/userevents-go/encode/typed" && t.Name() == "Truncated" { // that package imports this one
		return tracepoint.Scalar(tracepoint.U32), step{code: opTruncated}, true
	}
	if number, ok := numbers[t.Kind()]; ok {
		return tracepoint.Scalar(number.kind), step{code: number.code}, true
	}
	switch t.Kind() {
	case reflect.Float32:
		return textType, step{code: opFloat32}, true
	case reflect.Float64:
		return textType, step{code: opFloat64}, true
	case reflect.String:
		return textType, step{code: opString}, true
	case reflect.Slice, reflect.Array:
		return representArray(t)
	}
	return tracepoint.Type{}, step{}, false
}

func representArray(t reflect.Type) (tracepoint.Type, step, bool) {
	elem := t.Elem()
	kind, ok := elements[elem.Kind()]
	s := step{code: opSlice, elem: int(elem.Size())}
	switch {
	case !ok:
		return tracepoint.Type{}, s, false
	case t.Kind() == reflect.Array && kind == tracepoint.U8:
		return textType, step{code: opHexArray, n: t.Len()}, t.Len() > 0
	case t.Kind() == reflect.Array:
		s.code, s.n = opArray, t.Len()*s.elem
		return tracepoint.Dynamic(kind), s, true
	case t.PkgPath() == "net" && t.Name() == "IP": // importing net would be much for a name
		return textType, step{code: opIP}, true
	case kind == tracepoint.U8:
		return textType, step{code: opHexSlice}, true
	}
	return tracepoint.Dynamic(kind), s, true
}

// advice says what to do about a type that is not supported.
func advice(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		switch t.Elem().Kind() {
		case reflect.Int, reflect.Uint:
			return ": the size of its elements depends on the platform, use int64 or uint64"
		case reflect.Uint8:
			return ": it is empty"
		}
		return ": the kernel has arrays of integers only"
	case reflect.Pointer:
		return ": use the value"
	case reflect.Interface:
		return ": use a string"
	}
	return `: leave it out with the tag uevent:"-"`
}

// goKind returns what the fields of a type are made of that are written as the opcode says.
func (code opcode) goKind(t reflect.Type) (kind GoKind, bits int) {
	switch code {
	case opTime:
		return GoTime, 0
	case opString, opTextBytes:
		return GoString, 0
	case opHexArray, opUUID:
		return GoID, 0
	case opFloat32, opFloat64, opScale32, opScale64:
		return GoFloat, t.Bits()
	case opCopy8, opCopy16, opCopy32, opCopy64, opInt8, opInt16, opInt, opUint:
		switch {
		case t == reflect.TypeFor[time.Duration]():
			return GoDuration, 0
		case t.Kind() == reflect.Bool:
			return GoBool, 0
		case t.Kind() <= reflect.Int64:
			return GoInt, t.Bits()
		}
		return GoUint, t.Bits()
	}
	return GoOther, 0
}

// integer returns the kind of an integer in Go, given that of its field in the event.
func (code opcode) integer(field tracepoint.Kind) tracepoint.Kind {
	switch {
	case code == opInt8:
		return tracepoint.S8
	case code == opInt16:
		return tracepoint.S16
	case code == opInt && strconv.IntSize == 32:
		return tracepoint.S32
	case code == opUint && strconv.IntSize == 32:
		return tracepoint.U32
	}
	return field
}
