package attrs

import (
	"slices"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/tracepoint"
)

// Keys of values without a field in a format. Those with the prefix otel. are OpenTelemetry's, in its semantic conventions or in
// its specification for formats other than OTLP; the others are of this module.
const (
	ScopeNameKey         = "otel.scope.name"
	ScopeVersionKey      = "otel.scope.version"
	ScopeSchemaURLKey    = "otel.scope.schema_url"
	ScopeAttributesKey   = "user_events.scope.attributes"
	DroppedAttributesKey = "otel.dropped_attributes_count"
	TruncatedKey         = "user_events.truncated"
)

// IsReserved reports whether records may write a member with this key themselves: it has one of the prefixes of
// such keys. The compiler inlines the test of the first character.
func IsReserved(key attribute.Key) bool {
	return key != "" && (key[0] == 'o' || key[0] == 'u') && hasReservedPrefix(string(key))
}

func hasReservedPrefix(key string) bool {
	return strings.HasPrefix(key, "otel.") || strings.HasPrefix(key, "user_events.")
}

// Fields for the origin of a record. An event may have some of them, in this order.
var (
	ScopeName    = payload.TextField("scope_name")
	ScopeVersion = payload.TextField("scope_version")
	ServiceName  = payload.TextField("service_name")
	Resource     = payload.Field{Name: "resource", Type: payload.String, Class: payload.JSON}
)

// Origin writes the origin of a record: the instrumentation scope and the resource.
type Origin struct {
	// Offsets in a payload, or absent.
	scopeName, scopeVersion, serviceName, resource int
}

const absent = -1

// NewOrigin returns the Origin of an event with a schema.
func NewOrigin(s *payload.Schema) Origin {
	fields, offsets := s.Layout.Declaration().Fields, s.Layout.Offsets()
	at := func(f payload.Field) int {
		i := slices.IndexFunc(fields, func(field tracepoint.Field) bool { return field.Name == f.Name })
		if i < 0 {
			return absent
		}
		return offsets[i]
	}
	return Origin{scopeName: at(ScopeName), scopeVersion: at(ScopeVersion), serviceName: at(ServiceName), resource: at(Resource)}
}

// Known holds the origin that many records share, with escaped texts.
type Known struct {
	scope *instrumentation.Scope
	plain bool // the scope has only a name
	texts []byte
	ends  [3]int // of the scope's name, of service.name and of the resource in texts, each with its NUL
}

// NewKnown returns the shared origin of the records of a scope and a resource. The records have at most limit bytes and
// no field for the scope's version. NewKnown returns nil if texts are long, since records may have to cut them. The
// scope must not change.
func NewKnown(scope *instrumentation.Scope, d *Described, limit int) *Known {
	k := &Known{scope: scope, plain: scope.Version == "" && scope.SchemaURL == "" && scope.Attributes.Len() == 0}
	for i, s := range [...]string{scope.Name, d.Service, string(d.JSON)} {
		if s != "" {
			if i < len(k.ends)-1 {
				k.texts, _ = text.Append(k.texts, s, limit)
			} else {
				k.texts = append(k.texts, s...)
			}
			k.texts = append(k.texts, 0)
		}
		k.ends[i] = len(k.texts)
	}
	if len(k.texts) > maxKnown || d.Dropped > 0 {
		return nil
	}
	return k
}

// maxKnown is a size of texts that fits most records.
const maxKnown = 1 << 10

// PutKnown is [Origin.Put] for a shared origin.
func (o *Origin) PutKnown(b *payload.Builder, k *Known) {
	begin := len(b.Buf)
	b.Buf = append(b.Buf, k.texts...)
	b.EndPart(o.scopeName, begin, begin+k.ends[0])
	b.EndPart(o.serviceName, begin+k.ends[0], begin+k.ends[1])
	b.EndPart(o.resource, begin+k.ends[1], begin+k.ends[2])
}

// WriteKnownScope is [Origin.WriteScope] for a shared origin.
func (o *Origin) WriteKnownScope(w *attrjson.Writer, k *Known) {
	if !k.plain {
		o.WriteScope(w, k.scope)
	}
}

// Put writes the origin's fields that the event has.
func (o *Origin) Put(b *payload.Builder, scope *instrumentation.Scope, d *Described) {
	if o.scopeName != absent {
		b.Text(o.scopeName, scope.Name)
	}
	if o.scopeVersion != absent {
		b.Text(o.scopeVersion, scope.Version)
	}
	if o.serviceName != absent {
		b.Raw(o.serviceName, d.service)
	}
	if o.resource != absent && len(d.JSON) > 0 {
		b.Raw(o.resource, d.JSON)
		b.Drop(d.Dropped)
	}
}

// WriteScope writes the scope's other data as attributes, which few scopes have.
func (o *Origin) WriteScope(w *attrjson.Writer, scope *instrumentation.Scope) {
	if scope.Attributes.Len() > 0 {
		w.Key(ScopeAttributesKey)
		object := w.Object()
		for i := scope.Attributes.Iter(); i.Next(); {
			kv := i.Attribute()
			WriteJSON(w, &kv)
		}
		w.Close(object)
	}
	if o.scopeVersion == absent {
		WriteText(w, ScopeVersionKey, scope.Version)
	}
	WriteText(w, ScopeSchemaURLKey, scope.SchemaURL)
}

// WriteText writes a text as an attribute, unless it is empty. The compiler inlines it.
func WriteText(w *attrjson.Writer, key, text string) {
	if text != "" {
		writeText(w, key, text)
	}
}

func writeText(w *attrjson.Writer, key, text string) {
	w.Key(key)
	w.String(text)
}

// WriteCount writes a count as an attribute, unless it is 0. The compiler inlines it.
func WriteCount(w *attrjson.Writer, key string, n int) {
	if n > 0 {
		writeCount(w, key, n)
	}
}

func writeCount(w *attrjson.Writer, key string, n int) {
	w.Key(key)
	w.Int(int64(n))
}

// Described is the description of a resource in events. It is immutable.
type Described struct {
	of       *resource.Resource
	Service  string               // service.name
	service  []byte               // service.name as a text of a typed event
	Instance string               // service.instance.id
	Chosen   []attribute.KeyValue // the selected attributes
	JSON     []byte               // these as an object; empty if there are none
	Dropped  int                  // number of values dropped from JSON, because there are too many
}

// Describer describes resources for events. Methods may be called concurrently.
type Describer struct {
	keys  []attribute.Key
	limit int
	last  atomic.Pointer[Described]
}

const (
	keyServiceName     = attribute.Key("service.name")
	keyServiceInstance = attribute.Key("service.instance.id")
)

// NewDescriber returns a Describer that selects the attributes with these keys, for payloads of at most limit bytes.
func NewDescriber(keys []attribute.Key, limit int) *Describer {
	return &Describer{keys: slices.Clone(keys), limit: limit}
}

// Describe returns the description of a resource. It caches the last one: a provider has one resource, which never
// changes.
func (d *Describer) Describe(res *resource.Resource) *Described {
	if last := d.last.Load(); last != nil && last.of == res {
		return last
	}
	described := d.describe(res)
	d.last.Store(described)
	return described
}

func (d *Describer) describe(res *resource.Resource) *Described {
	out := &Described{of: res}
	set := res.Set()
	if v, ok := set.Value(keyServiceName); ok {
		out.Service = Text(v)
		out.service, _ = text.Append(nil, out.Service, d.limit)
	}
	if v, ok := set.Value(keyServiceInstance); ok {
		out.Instance = Text(v)
	}
	w := attrjson.Begin(nil, d.limit)
	for _, key := range d.keys {
		if v, ok := set.Value(key); ok {
			kv := attribute.KeyValue{Key: key, Value: v}
			out.Chosen = append(out.Chosen, kv)
			WriteJSON(&w, &kv)
		}
	}
	if len(out.Chosen) > 0 {
		out.JSON, out.Dropped = w.End(attrjson.KeepAll)
	}
	return out
}
