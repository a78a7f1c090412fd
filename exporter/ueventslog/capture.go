package ueventslog

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/internal/payload"
)

// capture holds the values that a log record has for declared fields. Captures are pooled.
type capture struct {
	values []value // of each field
	taken  []bool  // of each attribute: it is in a field
}

// value is the value of a declared field.
type value struct {
	at   int // number of the attribute that it comes from, or -1
	num  uint64
	text string
}

var captures = sync.Pool{New: func() any { return new(capture) }}

// free returns the capture to the pool, without what belongs to the caller.
func (c *capture) free() {
	if cap(c.taken) > maxKept {
		return
	}
	clear(c.values)
	c.values, c.taken = c.values[:0], c.taken[:0]
	captures.Put(c)
}

// find finds the values of declared attributes. It returns how many attributes have values that cannot be converted;
// they stay attributes. Of attributes with the same key, which a provider may allow, the last one is taken.
func (c *capture) find(a attributes, fields []field) (unconverted uint64) {
	for range fields {
		c.values = append(c.values, value{at: -1})
	}
	a.walk(func(kv attribute.KeyValue) bool {
		c.taken = append(c.taken, false)
		for i := range fields {
			if fields[i].key != kv.Key {
				continue
			}
			num, text, ok := fields[i].typ.Convert(neutral(kv.Value))
			if !ok {
				unconverted++
				break
			}
			v := &c.values[i]
			if v.at >= 0 {
				c.taken[v.at] = false
			}
			*v = value{at: len(c.taken) - 1, num: num, text: text}
			c.taken[v.at] = true
			break
		}
		return true
	})
	return unconverted
}

// put writes the values to their fields.
func (c *capture) put(b *payload.Builder, fields []field) {
	for i := range fields {
		v, f := &c.values[i], &fields[i]
		if v.at < 0 {
			continue
		}
		if f.typ == declared.String {
			b.Text(f.at, v.text)
		} else {
			b.Buf, _ = f.typ.Put(b.Buf, payload.Base, payload.Base+f.at, v.num, "", b.Limit())
		}
	}
}

// neutral returns a value as package declared knows it. It has no lists and maps.
func neutral(v attribute.Value) declared.Value {
	switch v.Type() {
	case attribute.BOOL:
		return declared.BoolValue(v.AsBool())
	case attribute.INT64:
		return declared.IntValue(v.AsInt64())
	case attribute.FLOAT64:
		return declared.FloatValue(v.AsFloat64())
	case attribute.STRING:
		return declared.TextValue(v.AsString())
	default:
		return declared.Value{}
	}
}
