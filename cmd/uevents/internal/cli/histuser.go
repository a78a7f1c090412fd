package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
)

// inUevents reads records for the duration, or until ctx is done, and counts them.
func (e *env) inUevents(ctx context.Context, h *histogram, subject *histSubject, f *histFlags) error {
	counter := newHistCounter(f)
	s := session{e: e, names: missingNames{e: e, where: f.condition, flags: &f.conditionFlags}}
	s.handle = func(ev *record.Record) error {
		if f.tail.o != nil && ev.System+":"+ev.Name != subject.name {
			return nil
		}
		return counter.add(ev)
	}
	if _, err := s.open(subject.options(f), &f.tail, 0); err != nil {
		return err
	}
	s.stopping = func() { h.Seconds = e.now().Sub(s.began).Seconds() }
	ctx, cancel := context.WithTimeout(ctx, f.duration)
	defer cancel()
	err := errors.Join(s.until(ctx, nil), s.end())
	if err != nil {
		return err
	}
	h.Rows = counter.rows.list()
	h.Dropped = s.stats.Total.Lost + counter.rows.dropped
	h.Without, h.Unsummed, h.Unselected = counter.without, counter.unsummed, s.stats.Unselected
	if b := s.names.tail; b != nil && b.Stats().Evicted > 0 {
		e.say("! %s were dropped as --hold was full: those of failed requests may be among them", output.Plural(b.Stats().Evicted, "record"))
	}
	s.names.say()
	return s.err
}

type histCounter struct {
	f        *histFlags
	by       []histValue
	sum      histValue
	rows     histRows
	without  uint64 // records that lack all keys
	unsummed uint64 // records that lack the number to sum up
	decoders map[*record.Decoder]*typed.Decoder
	keys     []string
}

// histValue is a value of records by its name.
type histValue struct {
	name string
	of   func(*record.Record) (record.Value, bool)
}

func newHistCounter(f *histFlags) histCounter {
	value := func(name string) histValue { return histValue{name, where.ValueOf(name)} }
	return histCounter{f: f, sum: value(f.sum), by: mapped(f.by, value)}
}

func (c *histCounter) add(ev *record.Record) error {
	c.keys = c.keys[:0]
	without := 0
	for _, by := range c.by {
		v, ok, err := c.value(ev, by)
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
	entry := histRow{Keys: c.keys, Hits: 1}
	if c.f.sum != "" {
		v, _, err := c.value(ev, c.sum)
		if err != nil {
			return err
		}
		if n, ok := number(v); ok {
			entry.Sum, entry.Numbers = n, 1
		} else {
			c.unsummed++
		}
	}
	row := c.rows.add(entry)
	if c.f.percentiles && row != nil && entry.Numbers > 0 && row.sketch.add(entry.Sum, c.rows.buckets < maxHistBuckets) {
		c.rows.buckets++
	}
	return nil
}

// value returns a value, whose name may also be that of a field of the tracepoint, as uevents show lists them.
func (c *histCounter) value(ev *record.Record, named histValue) (v record.Value, ok bool, err error) {
	if v, ok = named.of(ev); ok {
		return v, ok, nil
	}
	d := c.decoders[ev.Decoder]
	if d == nil {
		if d, err = typed.NewFormatDecoder(ev.Decoder.Format(), nil); err != nil {
			return v, false, err
		}
		if c.decoders == nil {
			c.decoders = map[*record.Decoder]*typed.Decoder{}
		}
		c.decoders[ev.Decoder] = d
	}
	fields, err := d.Decode(ev.Raw)
	if err != nil {
		return v, false, nil //nolint:nilerr // the record has no fields
	}
	field, ok := fields.Lookup(named.name)
	switch {
	case !ok:
		return v, false, nil
	case field.Kind() == typed.KindInt:
		return record.Int64Value(field.Int64()), true, nil
	case field.Kind() == typed.KindUint:
		return record.Uint64Value(field.Uint64()), true, nil
	}
	return record.StringValue(text.Printable(field.String())), true, nil
}

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

// add adds records to the row of their keys, and returns that row. It returns nil if there is no room for a new one.
func (r *histRows) add(entry histRow) *histRow {
	key := strings.Join(entry.Keys, "\n") // which printable texts do not have
	row := r.rows[key]
	if row == nil {
		if len(r.rows) >= maxHistRows || r.bytes+len(key) > maxHistBytes {
			r.dropped += entry.Hits
			return nil
		}
		if r.rows == nil {
			r.rows = map[string]*histRow{}
		}
		row = &histRow{Keys: slices.Clone(entry.Keys)}
		r.rows[key] = row
		r.bytes += len(key)
	}
	row.Hits += entry.Hits
	row.Sum += entry.Sum
	row.Numbers += entry.Numbers
	return row
}

// list returns the rows, the most frequent first.
func (r *histRows) list() []histRow {
	list := []histRow{}
	for _, row := range r.rows {
		row.Percentiles = row.sketch.percentiles()
		list = append(list, *row)
	}
	slices.SortFunc(list, func(a, b histRow) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), slices.CompareFunc(a.Keys, b.Keys, compareKeys))
	})
	return list
}

// number returns a finite number, also one that is written as a text, as declared fractions are, or false for other values.
func number(v record.Value) (float64, bool) {
	n := v.Float64()
	switch v.Type() {
	case record.TypeInt64, record.TypeUint64, record.TypeFloat64:
	case record.TypeString:
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

// percentiles of the numbers of a row, each within 1.6 % of a number that the records have.
type percentiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// sketch counts numbers by their size: 32 buckets for each power of two.
type sketch struct {
	buckets map[int]uint64 // by bucketOf
	total   uint64
	least   float64
	most    float64
}

// add adds a number, and reports whether it takes another bucket. Without room for one, the number goes to the next bucket that is there.
func (s *sketch) add(v float64, room bool) (grew bool) {
	if s.buckets == nil {
		s.buckets = map[int]uint64{}
		s.least, s.most, room = v, v, true
	}
	s.least, s.most = min(s.least, v), max(s.most, v)
	b := bucketOf(v)
	if _, there := s.buckets[b]; !there {
		if !room {
			b = s.nearest(b)
		} else {
			grew = true
		}
	}
	s.buckets[b]++
	s.total++
	return grew
}

func (s *sketch) nearest(b int) int {
	return slices.MinFunc(slices.Collect(maps.Keys(s.buckets)), func(x, y int) int { return max(x-b, b-x) - max(y-b, b-y) })
}

// bucketBits are the lower bits of a float64, in which the numbers of a bucket differ: it has 5 bits of the fraction.
const bucketBits = 52 - 5

// bucketOf returns the bucket of a number, of those below 1e-307 with less precision. Those of larger numbers are larger.
func bucketOf(v float64) int {
	b := int(math.Float64bits(math.Abs(v)) >> bucketBits)
	if v < 0 {
		return -b
	}
	return b
}

func middle(b int) float64 {
	switch {
	case b < 0:
		return -middle(-b)
	case b == 0:
		return 0
	}
	return math.Float64frombits(uint64(b)<<bucketBits | 1<<(bucketBits-1))
}

func (s *sketch) percentiles() *percentiles {
	if s.total == 0 {
		return nil
	}
	order := slices.Sorted(maps.Keys(s.buckets))
	at := func(share float64) float64 {
		rank, seen := uint64(math.Ceil(share*float64(s.total))), uint64(0)
		for _, b := range order {
			if seen += s.buckets[b]; seen >= rank {
				return min(max(middle(b), s.least), s.most)
			}
		}
		return s.most
	}
	return &percentiles{P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: s.most}
}

// log2Key returns the key of a number with --log2, as the kernel prints it: N of the range from above 2^(N-1) to 2^N.
// Like the kernel, it takes negative numbers for very large ones.
func log2Key(v int64) string {
	n := 0
	if v != 0 {
		n = bits.Len64(uint64(v) - 1)
	}
	return "~ 2^" + strconv.Itoa(n)
}

// log2Of returns the key of a number with --log2, or false for other values. A fraction is in the range of the integer above.
func log2Of(v record.Value) (key string, ok bool) {
	n, ok := number(v)
	whole := v.Int64()
	if v.Type() == record.TypeFloat64 {
		whole = int64(max(-1, min(math.Ceil(n), 1<<63-1024))) // the nearest that an int64 can be
	}
	return log2Key(whole), ok
}

// ranges replaces the keys of --log2 by the limits of their ranges, and sorts the rows by them. In text, the limits of times
// have units.
func (h *histogram) ranges(f *histFlags) error {
	exponents := make(map[string]int, len(h.Rows))
	for i := range h.Rows {
		r := &h.Rows[i]
		digits, ok := strings.CutPrefix(r.Keys[0], "~ 2^")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 0 || n > 64 {
			return fmt.Errorf("histogram of %s: the kernel's text is not understood: %q is no power of two", h.Event, r.Keys[0])
		}
		r.Keys[0] = rangeOf(n, f.format == "text" && (strings.HasSuffix(f.by[0], "_ns") || f.by[0] == "duration"))
		exponents[r.Keys[0]] = n
	}
	slices.SortFunc(h.Rows, func(a, b histRow) int { return cmp.Compare(exponents[a.Keys[0]], exponents[b.Keys[0]]) })
	return nil
}

// rangeOf returns the limits of the range up to 2^n.
func rangeOf(n int, times bool) string {
	limit := func(v uint64) string {
		if times {
			return string(output.AppendDuration(nil, time.Duration(v)))
		}
		return strconv.FormatUint(v, 10)
	}
	switch n {
	case 0:
		return "up to " + limit(1)
	case 63:
		return "above " + limit(1<<62)
	case 64:
		return "negative, or above 2^63"
	}
	return limit(1<<(n-1)+1) + ".." + limit(1<<n)
}
