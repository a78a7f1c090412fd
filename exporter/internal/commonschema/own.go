package commonschema

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// Own holds the fields of part C that are not attributes of the record: selected attributes of the resource, the scope,
// and values without a field elsewhere. Create it before the attributes are written: an attribute with the name of such
// a field is omitted, since decoders would find the field twice. Write it before them: if fields must be dropped to
// make a record fit, these are the last ones.
//
// Own lives on the stack.
type Own struct {
	resource []attribute.KeyValue
	scope    attribute.Set
	fields   [maxOwn]ownField
	n        int
}

// ownField is a text, or else a count, or else true. An attribute.KeyValue takes more room, which is cleared for each
// record.
type ownField struct {
	name  attribute.Key
	text  string
	count int
}

// maxOwn is the largest number of fields that spans have besides those of the resource. Log records have fewer.
const maxOwn = 11

func (o *Own) add(f ownField) {
	o.fields[o.n] = f
	o.n++
}

// Origin adds the origin of a record.
func (o *Own) Origin(scope *instrumentation.Scope, d *attrs.Described) {
	o.resource, o.scope = d.Chosen, scope.Attributes
	o.Text(attrs.ScopeNameKey, scope.Name)
	o.Text(attrs.ScopeVersionKey, scope.Version)
	o.Text(attrs.ScopeSchemaURLKey, scope.SchemaURL)
}

// Text adds a text, unless it is empty.
func (o *Own) Text(name attribute.Key, text string) {
	if text != "" {
		o.add(ownField{name: name, text: text})
	}
}

// Count adds a count, unless it is 0.
func (o *Own) Count(name attribute.Key, n int) {
	if n > 0 {
		o.add(ownField{name: name, count: n})
	}
}

// True adds a boolean, unless it is false.
func (o *Own) True(name attribute.Key, v bool) {
	if v {
		o.add(ownField{name: name})
	}
}

// Has reports whether there is a field of that name.
func (o *Own) Has(name attribute.Key) bool {
	if len(o.resource) > 0 && slices.ContainsFunc(o.resource, func(kv attribute.KeyValue) bool { return kv.Key == name }) {
		return true
	}
	return attrs.IsReserved(name) && (slices.ContainsFunc(o.fields[:o.n], func(f ownField) bool { return f.name == name }) ||
		name == attrs.ScopeAttributesKey && o.scope.Len() > 0)
}

// Write writes the fields.
func (o *Own) Write(e *eventheader.Encoder) {
	for i := range o.fields[:o.n] {
		switch f := &o.fields[i]; {
		case f.text != "":
			e.String(string(f.name), f.text)
		case f.count != 0:
			e.Int64(string(f.name), int64(f.count))
		default:
			e.Bool(string(f.name), true)
		}
	}
	for _, kv := range o.resource {
		attrs.WriteField(e, kv)
	}
	if o.scope.Len() > 0 {
		e.BeginStruct(attrs.ScopeAttributesKey)
		for i := o.scope.Iter(); i.Next(); {
			attrs.WriteField(e, i.Attribute())
		}
		e.EndStruct()
	}
}
