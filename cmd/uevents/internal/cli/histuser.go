package cli

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
)

// inUevents reads records for the duration, or until ctx is done, and counts them.
func (e *env) inUevents(ctx context.Context, h *histogram, subject *histSubject, f *histFlags) error {
	o := &reader.Options{Events: []string{subject.name}, Where: f.condition, Decode: reader.DecodeOptions{Reuse: true}}
	if f.tail.o != nil {
		o.Events = []string{"*"} // records that meet it may be in any
	}
	if !subject.memory {
		o.Transport = reader.TransportKernel
	} else if subject.dir == nil {
		o.Transport = reader.TransportMemory
	}
	if subject.dir != nil {
		o.Tracefs = subject.dir.Path()
	}
	s, err := f.tail.open(e, o)
	if err != nil {
		return hintForOpen(err)
	}
	defer s.Close()
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, f.duration)
	defer cancel()
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		h.Seconds = time.Since(start).Seconds()
		stopped <- s.Stop()
	})
	counter := histCounter{f: f}
	var ev reader.Event
	for {
		if err := s.Next(&ev); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if f.tail.o != nil && ev.System+":"+ev.Name != subject.name {
			continue
		}
		if err := counter.add(&ev); err != nil {
			return err
		}
	}
	h.Rows = counter.rows.list(f)
	stats, err := s.Stats()
	h.Dropped = stats.Total.Lost + counter.rows.dropped
	h.Without, h.Unsummed, h.Unselected = counter.without, counter.unsummed, stats.Unselected
	e.sayEvicted(bufferOf(s))
	(&missingNames{e: e, where: f.condition, tail: bufferOf(s), flags: &f.conditionFlags}).say()
	return errors.Join(err, <-stopped)
}

// histCounter counts records.
type histCounter struct {
	f        *histFlags
	rows     histRows
	without  uint64 // records that lack all keys
	unsummed uint64 // records that lack the number to sum up
	decoders map[*reader.Decoder]*typed.Decoder
	keys     []string
}

// add counts a record.
func (c *histCounter) add(ev *reader.Event) error {
	c.keys = c.keys[:0]
	without := 0
	for _, name := range c.f.by {
		v, ok, err := c.value(ev, name)
		if err != nil {
			return err
		}
		key := ""
		if ok && c.f.log2 {
			key, ok = log2Of(v)
		} else if ok {
			key = string(v.AppendText(nil))
		}
		if !ok {
			key = ""
			without++
		}
		c.keys = append(c.keys, key)
	}
	if without == len(c.keys) {
		c.without++
		return nil
	}
	if c.f.sum == "" {
		c.rows.add(c.keys, nil, false)
		return nil
	}
	v, _, err := c.value(ev, c.f.sum)
	if err != nil {
		return err
	}
	n, ok := number(v)
	if !ok {
		c.unsummed++
		c.rows.add(c.keys, nil, false)
		return nil
	}
	c.rows.add(c.keys, &n, c.f.percentiles)
	return nil
}

// value returns the value of a name, which may also be that of a field of the tracepoint, as uevents show lists them.
func (c *histCounter) value(ev *reader.Event, name string) (v reader.Value, ok bool, err error) {
	if v, ok = ev.Value(name); ok {
		return v, ok, nil
	}
	d := c.decoders[ev.Decoder]
	if d == nil {
		if d, err = typed.NewFormatDecoder(ev.Decoder.Format(), nil); err != nil {
			return v, false, err
		}
		if c.decoders == nil {
			c.decoders = map[*reader.Decoder]*typed.Decoder{}
		}
		c.decoders[ev.Decoder] = d
	}
	record, err := d.Decode(ev.Raw)
	if err != nil {
		return v, false, nil //nolint:nilerr // the record has no fields
	}
	field, ok := record.Lookup(name)
	switch {
	case !ok:
		return v, false, nil
	case field.Kind() == typed.KindInt:
		return reader.Int64Value(field.Int64()), true, nil
	case field.Kind() == typed.KindUint:
		return reader.Uint64Value(field.Uint64()), true, nil
	}
	return reader.StringValue(text.Printable(field.String())), true, nil
}

// histRows are the values that were counted.
type histRows struct {
	rows    map[string]*histRow
	bytes   int    // of the keys
	buckets int    // of the percentiles
	dropped uint64 // records of other values, when there were maxHistRows, or maxHistBytes
}

// Limits of the memory of the values that are told apart: programs choose their lengths and how many there are.
const (
	maxHistBytes   = 4 << 20
	maxHistBuckets = 1 << 20
)

// add counts a record, and the number that it has to sum up, if any, of which there can be percentiles.
func (r *histRows) add(keys []string, n *float64, percentiles bool) {
	key := strings.Join(keys, "\n") // which printable texts do not have
	row := r.rows[key]
	switch {
	case row != nil:
	case len(r.rows) == maxHistRows || r.bytes+len(key) > maxHistBytes:
		r.dropped++
		return
	default:
		if r.rows == nil {
			r.rows = map[string]*histRow{}
		}
		row = &histRow{Keys: append([]string(nil), keys...)}
		r.rows[key] = row
		r.bytes += len(key)
	}
	row.Hits++
	if n == nil {
		return
	}
	row.Numbers++
	row.Sum += *n
	if percentiles && row.sketch.add(*n, r.buckets < maxHistBuckets) {
		r.buckets++
	}
}

// list returns the rows in any order.
func (r *histRows) list(f *histFlags) []histRow {
	list := []histRow{}
	for _, row := range r.rows {
		if f.percentiles {
			row.Percentiles = row.sketch.percentiles()
		}
		list = append(list, *row)
	}
	return list
}

// number returns a finite number, also one that is written as a text, as declared fractions are, or false for other values.
func number(v reader.Value) (float64, bool) {
	n := v.Float64()
	switch v.Type() {
	case reader.TypeInt64, reader.TypeUint64, reader.TypeFloat64:
	case reader.TypeString:
		var err error
		if n, err = strconv.ParseFloat(v.Text(), 64); err != nil {
			return 0, false
		}
	default:
		return 0, false
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, false
	}
	return n, true
}
