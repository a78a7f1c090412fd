package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/tracepoint"
)

// needed returns the fields that an event must have.
func (l *layout) needed() (fields []tracepoint.FormatField) {
	add := func(names []string, t tracepoint.Type) {
		for _, name := range names {
			fields = append(fields, tracepoint.FormatField{Name: name, Type: t})
		}
	}
	add(l.numbers, tracepoint.Scalar(tracepoint.U64))
	add(l.texts, tracepoint.Dynamic(tracepoint.Char))
	add(l.bytes, tracepoint.Type{Kind: tracepoint.U8, Location: tracepoint.RelLoc})
	return fields
}

// TestLayouts: an event is recognised by its fields, in any order and among others, and only if it has all of them with
// their types.
func TestLayouts(t *testing.T) {
	other := tracepoint.FormatField{Name: "other", Type: tracepoint.Scalar(tracepoint.U8)}
	for i, l := range layouts {
		fields := l.needed()
		require.Same(t, l, layoutOf(fields), i)
		slices.Reverse(fields)
		fields = append(fields, other)
		require.Same(t, l, layoutOf(fields), i)
		for k := range fields[:len(fields)-1] {
			without := slices.Delete(slices.Clone(fields), k, k+1)
			assert.NotSame(t, l, layoutOf(without), "%d without %s", i, fields[k].Name)
			for _, wrong := range []tracepoint.Type{
				tracepoint.Scalar(tracepoint.U64), tracepoint.Dynamic(tracepoint.Char), tracepoint.Array(tracepoint.UChar, 8), tracepoint.Dynamic(tracepoint.U8),
				tracepoint.Array(tracepoint.U8, 8), tracepoint.Dynamic(tracepoint.U16), tracepoint.StructOf("x", 8), tracepoint.Scalar(tracepoint.Char),
			} {
				was := fields[k].Type
				same := was.IsInteger() && wrong.IsInteger() || was.IsText() && wrong.IsText() || isBytes(was) && isBytes(wrong)
				changed := slices.Clone(fields)
				changed[k].Type = wrong
				assert.Equal(t, same, layoutOf(changed) == l, "%d, %s as %s", i, fields[k].Name, wrong)
			}
		}
	}
	assert.Nil(t, layoutOf(nil))
	assert.True(t, tracepoint.Scalar(tracepoint.Char).IsInteger())
	assert.True(t, tracepoint.Array(tracepoint.UChar, 1).IsText())
	assert.True(t, tracepoint.Dynamic(tracepoint.Char).IsText())
	assert.False(t, tracepoint.Dynamic(tracepoint.U8).IsText())
	assert.True(t, isBytes(tracepoint.Dynamic(tracepoint.U8)))
	assert.False(t, isBytes(tracepoint.Scalar(tracepoint.U8)))
	assert.False(t, tracepoint.StructOf("x", 8).IsInteger())
}

// TestSettersOfAllNeededFields: fields that identify an event do not remain in Event.Fields.
func TestSettersOfAllNeededFields(t *testing.T) {
	for i, l := range layouts {
		for _, f := range l.needed() {
			assert.NotNil(t, l.fields[f.Name], "%d: %s", i, f.Name)
		}
	}
}

// ofEveryType is the format of an event with a field of each type. Integers have a field for each kind of setter.
func ofEveryType() tracepoint.Format {
	d := tracepoint.MustParse("every u8 a; s8 b; u16 c; s16 d; u32 e; s32 f; u64 g; s64 h; char i; char[4] fixed; __data_loc char[] text; " +
		"__rel_loc char[] near; __rel_loc u16[] list; __data_loc u8[] bytes; struct point p 3; __data_loc char[] last")
	f := tracepoint.Format{Name: d.Name, Common: []tracepoint.FormatField{{Name: "common_type", Type: tracepoint.Scalar(tracepoint.UShort), Size: 2}}}
	at := tracepoint.CommonSize
	for _, field := range append(d.Fields, tracepoint.Field{Name: "array", Type: tracepoint.Array(tracepoint.U32, 2)}) { // which the kernel's events have
		f.Fields = append(f.Fields, tracepoint.FormatField{Name: field.Name, Type: field.Type, Offset: at, Size: field.Type.FixedSize()})
		at += field.Type.FixedSize()
	}
	return f
}

// TestRecordFields: a value reaches the setter of its type as package typed decodes it, and a record that typed refuses is refused, for any
// bytes. Fields without a setter for their type, or whose setter refuses the value, are left.
func TestRecordFields(t *testing.T) {
	format := ofEveryType()
	decoder, err := typed.NewFormatDecoder(format, nil)
	require.NoError(t, err)
	got := map[string]any{}
	refused := ""
	l := &layout{fields: map[string]setter{}}
	for i, f := range format.Fields {
		name := f.Name
		s := setter{
			number: func(_ *Record, n uint64) { got[name] = n },
			text: func(_ *Record, b []byte) bool {
				got[name] = string(b)
				return name != refused
			},
			array: func(_ *Record, b []byte) bool {
				got[name] = string(b)
				return name != refused
			},
		}
		switch i % 3 {
		case 1:
			s.number, s.upTo = nil, func(_ *Record, n uint64) bool {
				got[name] = n
				return name != refused
			}
			s.text, s.words = nil, func(_ *Record, text string) { got[name] = text }
		case 2:
			s.empty = true
		}
		l.fields[name] = s
	}
	fields, size := l.recordFields(format)
	require.Equal(t, format.Fields[len(format.Fields)-1].Offset+8, size)
	random := rand.New(rand.NewPCG(1, 2))
	whole, last := 0, slices.IndexFunc(format.Fields, func(f tracepoint.FormatField) bool { return f.Name == "p" })
	for range 20000 {
		raw := randomRecord(random, format, size)
		clear(got)
		refused = format.Fields[random.IntN(len(format.Fields))].Name
		want, err := decoder.Decode(raw)
		from, within := 0, len(raw) >= size
		var left []string
		for from < len(fields) && within {
			done, ok := setFields(fields[from:], raw, new(Record))
			if from, within = from+done, ok; from < len(fields) && ok {
				left = append(left, format.Fields[from].Name)
				from++
			}
		}
		require.Equal(t, err == nil, within, "% x: %v", raw, err)
		if err != nil {
			continue
		}
		whole++
		for i, f := range format.Fields {
			_, v := want.Field(i)
			value, set := got[f.Name]
			switch {
			case i == last:
				require.Contains(t, left, f.Name, "a struct")
			case !set:
				require.False(t, fields[i].empty, f.Name)
				require.Zero(t, v.Uint64(), f.Name)
				require.Empty(t, v.Bytes(), f.Name)
			case v.Kind() == typed.KindInt || v.Kind() == typed.KindUint:
				require.Equal(t, v.Uint64(), value, f.Name)
			case fields[i].words != nil:
				require.Equal(t, plain(v.Bytes()), value, f.Name)
			default:
				require.Equal(t, string(v.Bytes()), value, f.Name)
			}
			if i != last {
				mayRefuse := fields[i].number == nil && fields[i].words == nil
				require.Equal(t, set && f.Name == refused && mayRefuse, slices.Contains(left, f.Name), f.Name)
			}
		}
	}
	assert.Greater(t, whole, 1000)
	assert.Less(t, whole, 19000)
}

// randomRecord returns a record, most of whose locations are within it.
func randomRecord(random *rand.Rand, format tracepoint.Format, size int) []byte {
	raw := make([]byte, size+random.IntN(24))
	for i := range raw {
		raw[i] = "\x00\x00ab\\n\xff\x80"[random.IntN(8)]
	}
	for _, f := range format.Fields {
		if f.Type.Location == tracepoint.Fixed {
			continue
		}
		begin := size + random.IntN(8)
		if f.Type.Location == tracepoint.RelLoc {
			begin -= f.Offset + 4
		}
		n := random.IntN(4) * random.IntN(4)
		if random.IntN(20) > 0 {
			n = min(n, max(0, len(raw)-size-8)) &^ 1
		}
		binary.NativeEndian.PutUint32(raw[f.Offset:], uint32(n)<<16|uint32(begin))
	}
	if random.IntN(20) == 0 {
		raw = raw[:random.IntN(len(raw))]
	}
	return bytes.Clone(raw) // without room behind it
}

// TestSlogLevels: a level has package slog's name, and the nearest severity of OpenTelemetry.
func TestSlogLevels(t *testing.T) {
	for level := int64(-100); level <= 100; level++ {
		assert.Equal(t, slog.Level(level).String(), slogName(level))
		assert.Equal(t, Severity(min(max(level+9, 1), 24)), severityOfSlog(level))
	}
	for level, want := range map[int64]Severity{math.MinInt64: SeverityTrace, math.MinInt32: SeverityTrace, math.MaxInt32: maxSeverity, math.MaxInt64: maxSeverity} {
		assert.Equal(t, want, severityOfSlog(level))
	}
	for level, want := range map[slog.Level]Severity{slog.LevelDebug: SeverityDebug, slog.LevelInfo: SeverityInfo, slog.LevelWarn: SeverityWarn, slog.LevelError: SeverityError} {
		assert.Equal(t, want, severityOfSlog(int64(level)))
	}
}

// TestSeverityNames: each of the 24 severities has OpenTelemetry's name, and no other number has one.
func TestSeverityNames(t *testing.T) {
	var want []string
	for _, name := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		want = append(want, name, name+"2", name+"3", name+"4")
	}
	for i, name := range want {
		assert.Equal(t, name, Severity(i+1).String())
	}
	for _, s := range []Severity{math.MinInt8, -1, 0, 25, math.MaxInt8} {
		assert.Equal(t, "UNDEFINED", s.String())
	}
}

// TestParseSeverity: names of severities and usual other ones, in any case.
func TestParseSeverity(t *testing.T) {
	for text, want := range map[string]Severity{
		"trace": SeverityTrace, "DEBUG": SeverityDebug, "Debug2": SeverityDebug + 1, "info": SeverityInfo, "information": SeverityInfo, "informational": SeverityInfo, "notice": SeverityInfo,
		"warn": SeverityWarn, "WARNING": SeverityWarn, "warn2": SeverityWarn + 1, "err": SeverityError, "error": SeverityError, "critical": SeverityFatal, "crit": SeverityFatal, "fatal4": maxSeverity,
	} {
		got, err := ParseSeverity(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0", "9", "warn5", "info0", "warnings", " warn", "warn ", "undefined"} {
		_, err := ParseSeverity(text)
		assert.ErrorIs(t, err, fs.ErrInvalid, text)
	}
}

// TestHeaderLevels: each EventHeader level has a severity, including undefined levels.
func TestHeaderLevels(t *testing.T) {
	for level, want := range map[eventheader.Level]Severity{0: 0, 1: 21, 2: 17, 3: 13, 4: 9, 5: 5, 6: 1, 7: 1, 255: 1} {
		assert.Equal(t, want, severityOfHeader(level), level)
	}
}

// TestTimes: 64 bits of nanoseconds are a time; 0 means no time.
func TestTimes(t *testing.T) {
	assert.True(t, unixNano(0).IsZero())
	assert.Equal(t, int64(1), unixNano(1).UnixNano())
	assert.Equal(t, int64(math.MaxInt64), unixNano(math.MaxInt64).UnixNano())
	last := unixNano(math.MaxUint64)
	assert.Equal(t, []int64{18446744073, 709551615}, []int64{last.Unix(), int64(last.Nanosecond())})
}

// TestIDs: an id with missing digits is not an id.
func TestIDs(t *testing.T) {
	for digits, want := range map[string]bool{"": true, "0a0B": true, "0a": false, "0a0b0c": false, "0a0g": false, "0a0": false} {
		var id [2]byte
		assert.Equal(t, want, setID(id[:], []byte(digits)), digits)
		if want && digits != "" {
			assert.Equal(t, [2]byte{10, 11}, id)
		} else {
			assert.Zero(t, id, digits)
		}
	}
}

// TestSources: the source of a log call is three fields; a text of any other form is one.
func TestSources(t *testing.T) {
	for source, want := range map[string]string{
		"":                        `{}`,
		"main.f /a b/c.go:7":      `{"code.function.name":"main.f","code.file.path":"/a b/c.go","code.line.number":7}`,
		`main.f C:\c.go:18`:       `{"code.function.name":"main.f","code.file.path":"C:\\c.go","code.line.number":18}`,
		"main.f /c.go":            `{"source":"main.f /c.go"}`,
		"main.f /c.go:":           `{"source":"main.f /c.go:"}`,
		"main.f /c.go:x":          `{"source":"main.f /c.go:x"}`,
		"main.f /c.go:1.5":        `{"source":"main.f /c.go:1.5"}`,
		"c.go:7":                  `{"source":"c.go:7"}`,
		" :7":                     `{"code.function.name":"","code.file.path":"","code.line.number":7}`,
		"f :18446744073709551615": `{"source":"f :18446744073709551615"}`,
	} {
		var rec Record
		rec.addSource(source)
		assert.Equal(t, want, string(AppendJSON(nil, rec.Fields())), source)
	}
}

// TestCloneSharesNothing: a clone has all fields of an event, and stays as it is when all the memory of the event changes. For Header see
// TestEventsAreCopies.
func TestCloneSharesNothing(t *testing.T) {
	var rec Record
	f := filler{}
	f.fill(reflect.ValueOf(&rec).Elem())
	f.fill(reflect.ValueOf(&rec.fields).Elem())

	clone := rec.Clone()
	dump := func(rec *Record) string {
		point := *rec.Point
		c := *rec
		c.Point, c.Header, c.fields = nil, nil, []Field{{}}
		return fmt.Sprintf("%+v %+v %s", c, point, AppendJSON(nil, rec.fields))
	}
	want := dump(&rec)
	assert.NotContains(t, strings.ReplaceAll(want, "list:[]", ""), "[]", "a list is empty")
	assert.Equal(t, want, dump(clone))
	for _, change := range f.changes {
		change()
	}
	assert.NotEqual(t, want, dump(&rec))
	assert.Equal(t, want, dump(clone))
}

// filler fills all that an event can refer to with memory of its own.
type filler struct {
	changes []func() // change that memory
}

func (f *filler) bytes() []byte {
	b := []byte("before")
	f.changes = append(f.changes, func() { copy(b, "after!") })
	return b
}

func (f *filler) value() Value {
	fields := []Field{{stringOf(f.bytes()), StringValue(stringOf(f.bytes()))}, {stringOf(f.bytes()), BytesValue(f.bytes())}}
	f.changes = append(f.changes, func() { clear(fields) })
	return MapValue(fields)
}

func (f *filler) fill(v reflect.Value) {
	switch v.Interface().(type) {
	case Value:
		v.Set(reflect.ValueOf(f.value()))
		return
	case time.Time, *Process, *Decoder, *Header:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(stringOf(f.bytes()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0))
		f.changes = append(f.changes, v.Index(0).SetZero)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
		f.changes = append(f.changes, v.Elem().SetZero)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	default:
		v.SetUint(1)
	}
}
