// Package truncationotel converts the cases of package truncationtest to OpenTelemetry's types, for the tests of the
// exporters.
package truncationotel

import (
	"fmt"
	"maps"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/truncationtest"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// KeyValues returns the attributes of a case. Errors become texts.
func KeyValues(attrs []truncationtest.Attr) (list []attribute.KeyValue) {
	for _, a := range attrs {
		kv := attribute.KeyValue{Key: attribute.Key(a.Key)}
		switch v := a.Value.(type) {
		case string:
			kv.Value = attribute.StringValue(v)
		case int64:
			kv.Value = attribute.Int64Value(v)
		case error:
			kv.Value = attribute.StringValue(v.Error())
		case []string:
			kv.Value = attribute.StringSliceValue(v)
		case truncationtest.Group:
			kv.Value = attribute.MapValue(KeyValues(v)...)
		default:
			panic(fmt.Sprintf("no attribute has a %T", v))
		}
		list = append(list, kv)
	}
	return list
}

const (
	scopeName       = "otel.scope.name"
	scopeAttributes = "user_events.scope.attributes"
)

// Decode returns the contents of a record, typed or in the Common Schema. message is the name of the field that has its
// message. The attributes of the scope, which must have a name, are among those of the record.
func Decode(raw ueventstest.Record, message string) (r *truncationtest.Record, err error) {
	if eventheader.IsDeclaration(raw.Declaration) {
		r, err = decodeCommonSchema(raw, message)
	} else {
		r, err = decodeTyped(raw, message)
	}
	if err != nil {
		return nil, err
	}
	bound, _ := r.Attributes[scopeAttributes].(map[string]any)
	maps.Copy(r.Attributes, bound)
	delete(r.Attributes, scopeAttributes)
	r.Size = len(raw.Payload)
	return r, nil
}

func decodeTyped(raw ueventstest.Record, message string) (*truncationtest.Record, error) {
	decoder, err := typed.NewDecoder(raw.Declaration, nil)
	if err != nil {
		return nil, err
	}
	decoded, err := decoder.Decode(raw.Payload)
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for name, v := range decoded.All() {
		fields[name] = string(v.AppendTo(nil))
	}
	r := &truncationtest.Record{Message: text.Unescape(fields[message])}
	if r.Truncated, err = strconv.Atoi(fields["truncated"]); err != nil {
		return nil, err
	}
	r.Attributes, err = truncationtest.Object(fields["attributes"])
	return r, err
}

func decodeCommonSchema(raw ueventstest.Record, message string) (*truncationtest.Record, error) {
	ev, err := eventheader.Decode(raw.Declaration.Name, raw.Payload)
	if err != nil {
		return nil, err
	}
	fields, err := truncationtest.Fields(ev)
	if err != nil {
		return nil, err
	}
	r := &truncationtest.Record{EventHeader: true}
	if part, ok := fields["PartB"].(map[string]any); ok {
		r.Message, _ = part[message].(string)
	}
	if r.Attributes, _ = fields["PartC"].(map[string]any); r.Attributes == nil {
		r.Attributes = map[string]any{}
	}
	if n, ok := fields[eventheader.TruncatedField].(int64); ok {
		r.Truncated = int(n)
	}
	if _, ok := r.Attributes[scopeName]; !ok {
		r.Truncated-- // it was dropped, and is not an attribute of the case
	}
	delete(r.Attributes, scopeName)
	return r, nil
}
