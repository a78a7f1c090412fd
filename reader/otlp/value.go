package otlp

import (
	"encoding/base64"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/userevents/userevents-go/reader"
)

const (
	// maxDepth limits the nesting of lists and maps. Deeper ones become JSON texts.
	maxDepth = 64
	// searchable is the number of attributes up to which each new one is looked up in the pcommon.Map itself; beyond, a
	// Go map removes duplicates.
	searchable = 128

	memberSize = len(`{"key":,"value":{"kvlistValue":{"values":[]}}},`) // of an attribute in JSON, beside key and value
	numberSize = len(`"-9223372036854775808"`)
)

// putAll puts the fields into an empty map as attributes, and returns their approximate size in JSON. Of several fields
// with one name, the last one counts.
func (c *Converter) putAll(to pcommon.Map, fields []reader.Field, depth int) (size int) {
	if len(fields) > searchable {
		return c.putMany(to, fields, depth)
	}
	to.EnsureCapacity(len(fields))
	for i := range fields {
		size += c.put(to, &fields[i], depth)
	}
	return size
}

// put puts a field as an attribute, and returns its approximate size in JSON. The usual types have methods of the map, which
// are faster than those of an empty value.
func (c *Converter) put(to pcommon.Map, f *reader.Field, depth int) (size int) {
	name, size := c.texts.keepName(f.Name)
	size += memberSize
	switch f.Value.Type() {
	case reader.TypeString:
		text, n := c.texts.keepSized(f.Value.Text())
		to.PutStr(name, text)
		return size + n
	case reader.TypeInt64:
		to.PutInt(name, f.Value.Int64())
		return size + numberSize
	case reader.TypeFloat64:
		to.PutDouble(name, f.Value.Float64())
		return size + numberSize
	default:
		return size + c.set(to.PutEmpty(name), f.Value, depth)
	}
}

// putMany is putAll for more than searchable fields. It loses their order, and the previous contents of the map.
func (c *Converter) putMany(to pcommon.Map, fields []reader.Field, depth int) (size int) {
	last := make(map[string]reader.Value, len(fields))
	raw := make(map[string]any, len(fields))
	for i := range fields {
		name := c.texts.keep(fields[i].Name)
		last[name], raw[name] = fields[i].Value, nil
	}
	_ = to.FromRaw(raw) // nil values never fail
	for name, value := range to.All() {
		size += c.set(value, last[name], depth) + jsonSize(name) + memberSize
	}
	return size
}

// putMissing puts an attribute unless the program has one with that name.
func putMissing(to pcommon.Map, name string, set func(pcommon.Value)) {
	if v, ok := to.GetOrPutEmpty(name); !ok {
		set(v)
	}
}

// set sets a value, and returns its approximate size in JSON beyond memberSize.
func (c *Converter) set(to pcommon.Value, v reader.Value, depth int) (size int) {
	switch v.Type() {
	case reader.TypeString:
		text, size := c.texts.keepSized(v.Text())
		to.SetStr(text)
		return size
	case reader.TypeInt64:
		to.SetInt(v.Int64())
	case reader.TypeUint64:
		to.SetStr(strconv.FormatUint(v.Uint64(), 10))
	case reader.TypeFloat64:
		to.SetDouble(v.Float64())
	case reader.TypeBool:
		to.SetBool(v.Bool())
	case reader.TypeBytes:
		to.SetEmptyBytes().FromRaw(v.Bytes())
		return base64.StdEncoding.EncodedLen(len(v.Bytes()))
	case reader.TypeList, reader.TypeMap:
		return c.setContainer(to, v, depth)
	}
	return numberSize
}

// setContainer sets a list or a map.
func (c *Converter) setContainer(to pcommon.Value, v reader.Value, depth int) (size int) {
	if depth == maxDepth {
		s := v.String()
		to.SetStr(s)
		return jsonSize(s)
	}
	if v.Type() == reader.TypeMap {
		return c.putAll(to.SetEmptyMap(), v.Fields(), depth+1)
	}
	list := to.SetEmptySlice()
	list.EnsureCapacity(len(v.Fields()))
	for _, f := range v.Fields() {
		size += c.set(list.AppendEmpty(), f.Value, depth+1) + memberSize
	}
	return size
}
