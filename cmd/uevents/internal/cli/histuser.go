package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/reader"
)

// inUevents reads records for the duration, or until ctx is done, and counts them.
func (e *env) inUevents(ctx context.Context, h *histogram, subject *histSubject, f *histFlags) error {
	o := &reader.Options{Events: []string{subject.name}, Filter: f.filter, Decode: reader.DecodeOptions{Mode: reader.DecodeNone, Reuse: true}}
	if !subject.memory {
		o.Transport = reader.TransportKernel
	} else if subject.dir == nil {
		o.Transport = reader.TransportMemory
	}
	s, err := e.open(subject.dir, o)
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
	var rows histRows
	var ev reader.Event
	fields := map[*reader.Decoder]*fieldReader{} // programs may have declared the event differently
	without, unsummed := uint64(0), uint64(0)
	for {
		if err := s.Next(&ev); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		d := fields[ev.Decoder]
		if d == nil {
			if d, err = newFieldReader(ev.Decoder); err != nil {
				return err
			}
			fields[ev.Decoder] = d
		}
		key, sum, ok := d.read(ev.Raw, f)
		if !ok {
			without++
			continue
		}
		rows.add(key, sum)
	}
	for _, d := range fields {
		unsummed += d.unsummed
	}
	h.Rows = rows.list()
	stats, err := s.Stats()
	h.Dropped = stats.Total.Lost + rows.dropped
	if without > 0 {
		number := ""
		if f.log2 {
			number = "number "
		}
		h.Reason += fmt.Sprintf("; %d records have no %s%s", without, number, h.By)
	}
	if unsummed > 0 {
		h.Reason += fmt.Sprintf("; %d records have no number %s", unsummed, h.Sum)
	}
	return errors.Join(err, <-stopped)
}

// histRows are the values that were counted.
type histRows struct {
	rows    map[string]*histRow
	bytes   int    // of the keys
	dropped uint64 // records of other values, when there were maxHistRows, or maxHistBytes
}

// maxHistBytes limits the memory of the values that are told apart: programs choose their lengths.
const maxHistBytes = 4 << 20

func (r *histRows) add(key string, sum float64) {
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
		row = &histRow{Key: key}
		r.rows[key] = row
		r.bytes += len(key)
	}
	row.Hits++
	row.Sum += sum
}

// list returns the rows in any order.
func (r *histRows) list() []histRow {
	list := []histRow{}
	for _, row := range r.rows {
		list = append(list, *row)
	}
	return list
}

// fieldReader reads fields of records by name, including attributes.
type fieldReader struct {
	typed   *typed.Decoder
	decoder *reader.Decoder
	event   reader.Event
	// unsummed counts records with the key field whose number to sum up is missing.
	unsummed uint64
}

func newFieldReader(d *reader.Decoder) (*fieldReader, error) {
	t, err := typed.NewFormatDecoder(d.Format(), nil)
	return &fieldReader{typed: t, decoder: d}, err
}

// read returns the printable value of the key field, and the number to sum up. It returns false if the record lacks the
// key field.
func (d *fieldReader) read(raw []byte, f *histFlags) (key string, sum float64, ok bool) {
	record, err := d.typed.Decode(raw)
	if err != nil {
		return "", 0, false
	}
	if err := d.decoder.Decode(raw, &d.event, &reader.DecodeOptions{Reuse: true}); err != nil {
		return "", 0, false
	}
	var by, add reader.Value
	if v, found := record.Lookup(f.by); found {
		key, by, ok = text.Printable(v.String()), integer(v), true
	} else if v, found := d.event.Lookup(f.by); found {
		key, by, ok = string(v.AppendText(nil)), v, true
	}
	if ok && f.log2 {
		key, ok = log2Of(by)
	}
	if f.sum == "" {
		return key, 0, ok
	}
	if v, found := record.Lookup(f.sum); found {
		add = integer(v)
	} else {
		add, _ = d.event.Lookup(f.sum)
	}
	sum, summed := number(add)
	if ok && !summed {
		d.unsummed++
	}
	return key, sum, ok
}

// integer returns an integer of a typed field, or the null value for other types.
func integer(v typed.Value) reader.Value {
	switch v.Kind() {
	case typed.KindInt:
		return reader.Int64Value(v.Int64())
	case typed.KindUint:
		return reader.Uint64Value(v.Uint64())
	default:
		return reader.Value{}
	}
}

// number returns a finite number, or false for other values.
func number(v reader.Value) (float64, bool) {
	switch v.Type() {
	case reader.TypeInt64, reader.TypeUint64, reader.TypeFloat64:
		n := v.Float64()
		if !math.IsNaN(n) && !math.IsInf(n, 0) {
			return n, true
		}
	}
	return 0, false
}
