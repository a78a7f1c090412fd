package otlp

import "go.opentelemetry.io/otel/attribute"

// cut is how much of a point that fits no event is dropped: each of these with all before it in this list, except
// that short attributes remain while there are buckets to drop.
type cut uint8

const (
	cutNothing cut = iota
	cutExemplars
	cutDescription    // of the metric
	cutLongAttributes // the largest ones first, as many as it takes
	cutBuckets        // and quantiles, but no attributes
	cutAttributes     // whatever their size
	cuts
)

// longAttribute is the size in bytes above which an attribute is dropped before buckets are.
const longAttribute = 64

// keyDropped is the attribute of a point that lost attributes: their number. OpenTelemetry gives
// it this name where a format has no place of its own for that.
const keyDropped = "otel.dropped_attributes_count"

// attributes writes the attributes of a point, as its last field.
func (x *export) attributes(field byte, set *attribute.Set) {
	spare := 0
	switch x.cut {
	case cutLongAttributes:
		spare = longAttribute
	case cutAttributes:
	default:
		for i := set.Iter(); i.Next() && !x.full(); {
			x.keyValue(field, i.Attribute())
		}
		return
	}
	mark := wire{limit: x.limit} // says that some are missing: all of them together did not fit
	mark.keyValue(field, attribute.Int(keyDropped, set.Len()))
	// The lengths of the point and of the messages around it may grow.
	room := x.limit - x.size() - len(mark.buf) - (openMessages+1)*(maxLengthSize-1)
	kept := fit(set.ToSlice(), field, room, spare)
	for _, kv := range kept {
		x.keyValue(field, kv)
	}
	x.keyValue(field, attribute.Int(keyDropped, set.Len()-len(kept)))
}
