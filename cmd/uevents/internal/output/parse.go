package output

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/record"
)

// Parser parses lines that -o json writes. The zero Parser is ready to use, by one goroutine.
type Parser struct {
	order     [maxColumns]uint8                  // numbers of the columns of members of the previous line
	second    string                             // of a previous time
	unix      int64                              // the same
	process   record.Process                     // of the line
	last      *record.Process                    // of the previous record
	processes map[record.Process]*record.Process // of earlier records, which share them
	system    string                             // of the previous record
	name      string                             // the same
	names     map[string]string                  // of tracepoints and their systems
}

// maxKnown limits the processes and names that a Parser keeps, and maxName the length of such a name.
const (
	maxKnown = 4096
	maxName  = 512
)

// Lost has the arguments of [Writer].Lost.
type Lost struct {
	Name  string
	Count uint64
	Time  time.Time
}

// Parse sets rec from a line, or returns what a line about lost records says. It ignores unknown members: later versions may add some. An
// error says what is no member of a record.
//
// Process, System and Name stay valid. The rest of rec shares the memory of the line, and reuses that of rec: see [record.Record.SetJSON].
func (p *Parser) Parse(line []byte, rec *record.Record) (*Lost, error) {
	members, ok := rec.SetJSON(line)
	if !ok {
		return nil, errors.New("no JSON object")
	}
	var values [maxColumns]*record.Value // the last one of each column
	var found uint64
	for i := range members {
		if n, ok := p.columnOf(i, members[i].Name); ok {
			values[n] = &members[i].Value
			found |= 1 << n
		}
	}
	if found &= parsedColumns; found == 0 {
		return nil, errors.New("no member is one of a record")
	}
	if kind := values[kindColumn]; kind != nil && kind.Text() == kindLost {
		return parseLost(record.MapValue(members))
	}
	p.process = record.Process{}
	rec.Process = &p.process
	if at, ok := p.timeOf(values[timeColumn]); ok {
		rec.Time = at
		found &^= 1 << timeColumn
	}
	if at, ok := p.timeOf(values[timestampColumn]); ok {
		rec.Timestamp = at
		found &^= 1 << timestampColumn
	}
	for ; found != 0; found &= found - 1 {
		n := bits.TrailingZeros64(found)
		if err := columns[n].parse(rec, values[n]); err != nil {
			return nil, fmt.Errorf("%s: %w", columns[n].name, err)
		}
	}
	if rec.Kind == record.KindMetric && rec.Point == nil {
		return nil, errors.New("a metric without a point")
	}
	rec.System, rec.Name = p.keptName(&p.system, rec.System), p.keptName(&p.name, rec.Name)
	rec.Process = p.keptProcess(rec.PID)
	return nil, nil
}

// maxColumns is at least the number of columns.
const maxColumns = 64

var kindColumn, timeColumn, timestampColumn = columnOf["kind"], columnOf["time"], columnOf["timestamp"]

// parsedColumns has a bit for each column whose parse is not nil.
var parsedColumns = func() (set uint64) {
	for i := range columns {
		if columns[i].parse != nil {
			set |= 1 << i
		}
	}
	return set
}()

// columnOf returns the number of the column with the name of member i. In most lines it is that of the previous line.
func (p *Parser) columnOf(i int, name string) (n uint8, ok bool) {
	i = min(i, len(p.order)-1)
	if n = p.order[i]; columns[n].name == name {
		return n, true
	}
	if n, ok = columnOf[name]; ok {
		p.order[i] = n
	}
	return n, ok
}

// timeOf returns a time as [second] appends it, and remembers its second, which most others share. ok is false for other texts.
func (p *Parser) timeOf(v *record.Value) (at time.Time, ok bool) {
	const toSecond, size = len("2006-01-02T15:04:05."), len("2006-01-02T15:04:05.000000000Z")
	if v == nil {
		return at, false
	}
	text := v.Text()
	if len(text) != size || text[size-1] != 'Z' {
		return at, false
	}
	if text[:toSecond] != p.second {
		at, err := parseTime(v)
		if err == nil {
			p.second, p.unix = strings.Clone(text[:toSecond]), at.Unix()
		}
		return at, err == nil
	}
	ns := int64(0)
	for _, c := range []byte(text[toSecond : size-1]) {
		if c -= '0'; c > 9 {
			return at, false
		}
		ns = ns*10 + int64(c)
	}
	return time.Unix(p.unix, ns).UTC(), true
}

func parseLost(v record.Value) (*Lost, error) {
	name, _ := v.Lookup("event")
	count, _ := v.Lookup("count")
	when, _ := v.Lookup("time")
	at, err := parseTime(&when)
	return &Lost{strings.Clone(name.Text()), count.Uint64(), at}, err
}

// keptName returns a name that stays valid. last is the one of the previous record.
func (p *Parser) keptName(last *string, name string) string {
	if name == *last {
		return *last
	}
	kept, ok := p.names[name]
	if !ok {
		kept = strings.Clone(name)
		if p.names == nil || len(p.names) >= maxKnown {
			p.names = map[string]string{}
		}
		if len(name) <= maxName {
			p.names[kept] = kept
		}
	}
	*last = kept
	return kept
}

// keptProcess returns the process of the line, or nil if the line does not have one.
func (p *Parser) keptProcess(pid int32) *record.Process {
	if p.process == (record.Process{}) {
		return nil
	}
	p.process.PID = pid
	if p.last != nil && *p.last == p.process {
		return p.last
	}
	if p.last = p.processes[p.process]; p.last != nil {
		return p.last
	}
	if p.processes == nil || len(p.processes) >= maxKnown {
		p.processes = map[record.Process]*record.Process{}
	}
	p.last = cloneProcess(p.process)
	p.processes[*p.last] = p.last
	return p.last
}

func cloneProcess(p record.Process) *record.Process {
	for _, s := range []*string{&p.Comm, &p.Exe, &p.Cgroup, &p.Unit, &p.ContainerID, &p.PodUID, &p.ServiceName} {
		*s = strings.Clone(*s)
	}
	return &p
}

func parseTime(v *record.Value) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, v.Text())
	if err != nil {
		return time.Time{}, fmt.Errorf("no time: %s", v)
	}
	return t.UTC(), nil
}

func parseID(to []byte, v *record.Value) error {
	id, err := hex.DecodeString(v.Text())
	if err != nil || copy(to, id) != len(id) || len(id) != len(to) {
		return fmt.Errorf("no id of %d bytes: %s", len(to), v)
	}
	return nil
}

// parseNumber returns a number. JSON has those that are not finite as texts.
func parseNumber(v *record.Value) (record.Value, error) {
	switch v.Type() {
	case record.TypeInt64, record.TypeUint64, record.TypeFloat64:
		return *v, nil
	}
	switch v.Text() {
	case "NaN", "Infinity", "-Infinity":
		f, err := strconv.ParseFloat(v.Text(), 64)
		return record.Float64Value(f), err
	}
	return *v, fmt.Errorf("no number: %s", v)
}

func parseFloat(v *record.Value) (float64, error) {
	n, err := parseNumber(v)
	return n.Float64(), err
}

func parseCount(v *record.Value) (uint64, error) {
	if v.Type() != record.TypeUint64 && (v.Type() != record.TypeInt64 || v.Int64() < 0) {
		return 0, fmt.Errorf("no count: %s", v)
	}
	return v.Uint64(), nil
}

func parseBytes(v *record.Value) ([]byte, error) { return base64.StdEncoding.DecodeString(v.Text()) }

// member is a member of a JSON object that has the parts of a T, such as an event or a data point.
type member[T any] struct {
	name string
	kind string // of its value, as the help names it
	doc  string // for the help; "" for members of objects within an event, and of text only
	part part   // skipped with all of the part

	// append appends the value as JSON, or as text that is safe to print. It appends nothing if from lacks it.
	append func(b []byte, from *T, c *clock, json bool) []byte
	// parse reads what append wrote as JSON; nil if other members tell the same. An error says what the value is not.
	parse func(to *T, v *record.Value) error
}

// Kinds of members, as the help explains them.
const (
	aText   = "text"
	aTime   = "time"
	anID    = "id"
	aNumber = "number"
	isTrue  = "true"
	anArray = "array"
	object  = "object"
)

// The functions below return a member from its place in a T.

func str[T any](name, doc string, at func(*T) *string) member[T] {
	return member[T]{
		name: name, kind: aText, doc: doc,
		append: func(b []byte, from *T, _ *clock, json bool) []byte { return appendString(b, *at(from), json) },
		parse: func(to *T, v *record.Value) error {
			*at(to) = v.Text()
			return nil
		},
	}
}

type integer interface {
	~int | ~int8 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func number[T any, N integer](name, doc string, at func(*T) *N) member[T] {
	return member[T]{
		name: name, kind: aNumber, doc: doc,
		append: func(b []byte, from *T, _ *clock, _ bool) []byte {
			switch n := *at(from); {
			case n > 0:
				return attrjson.AppendUint(b, uint64(n))
			case n < 0:
				return attrjson.AppendInt(b, int64(n))
			}
			return b
		},
		parse: func(to *T, v *record.Value) error {
			*at(to) = N(v.Uint64())
			return nil
		},
	}
}

// always makes a member of a number that is there if it is 0, too.
func always[T any, N integer](name, doc string, at func(*T) *N) member[T] {
	m := number(name, doc, at)
	m.append = func(b []byte, from *T, _ *clock, _ bool) []byte { return attrjson.AppendInt(b, int64(*at(from))) }
	return m
}

// count is a number that is refused if it is none.
func count[T any](name string, at func(*T) *uint64) member[T] {
	m := number(name, "", at)
	m.parse = func(to *T, v *record.Value) (err error) {
		*at(to), err = parseCount(v)
		return err
	}
	return m
}

func numeric[T any](name string, at func(*T) *record.Value) member[T] {
	return member[T]{
		name: name, kind: aNumber,
		append: func(b []byte, from *T, _ *clock, _ bool) []byte {
			if v := *at(from); v.Type() != record.TypeNull {
				b = v.AppendJSON(b)
			}
			return b
		},
		parse: func(to *T, v *record.Value) (err error) {
			*at(to), err = parseNumber(v)
			return err
		},
	}
}

// float is left out if it is 0, unless zero is set.
func float[T any](name string, zero bool, at func(*T) *float64) member[T] {
	return member[T]{
		name: name, kind: aNumber,
		append: func(b []byte, from *T, _ *clock, _ bool) []byte {
			if f := *at(from); f != 0 || zero {
				b = attrjson.AppendFloat(b, f)
			}
			return b
		},
		parse: func(to *T, v *record.Value) (err error) {
			*at(to), err = parseFloat(v)
			return err
		},
	}
}

func id[T any](name, doc string, at func(*T) []byte) member[T] {
	return member[T]{
		name: name, kind: anID, doc: doc,
		append: func(b []byte, from *T, _ *clock, json bool) []byte {
			switch v := at(from); {
			case isZero(v):
				return b
			case json:
				return append(hex.AppendEncode(append(b, '"'), v), '"')
			default:
				return hex.AppendEncode(b, v)
			}
		},
		parse: func(to *T, v *record.Value) error { return parseID(at(to), v) },
	}
}

func isZero(id []byte) bool {
	for _, c := range id {
		if c != 0 {
			return false
		}
	}
	return true
}

func truth[T any](name, doc string, at func(*T) *bool) member[T] {
	return member[T]{
		name: name, kind: isTrue, doc: doc,
		append: func(b []byte, from *T, _ *clock, _ bool) []byte {
			if *at(from) {
				b = append(b, "true"...)
			}
			return b
		},
		parse: func(to *T, v *record.Value) error {
			*at(to) = v.Bool()
			return nil
		},
	}
}

func moment[T any](name, doc string, at func(*T) *time.Time) member[T] {
	return member[T]{
		name: name, kind: aTime, doc: doc,
		append: func(b []byte, from *T, c *clock, json bool) []byte {
			switch t := *at(from); {
			case t.IsZero():
				return b
			case json:
				return c.full.appendQuoted(b, t)
			default:
				return c.appendRFC3339(b, t)
			}
		},
		parse: func(to *T, v *record.Value) (err error) {
			*at(to), err = parseTime(v)
			return err
		},
	}
}

func fields[T any](name, doc string, at func(*T) *[]record.Field) member[T] {
	return member[T]{
		name: name, kind: object, doc: doc,
		append: func(b []byte, from *T, _ *clock, _ bool) []byte {
			if list := *at(from); len(list) > 0 {
				b = record.AppendJSON(b, list)
			}
			return b
		},
		parse: func(to *T, v *record.Value) error {
			*at(to) = v.Fields()
			return nil
		},
	}
}

// named is a number from first to last that has a name. A lower one has none, and is left out.
func named[T any, N interface {
	~uint8
	String() string
}](name, doc string, first, last N, at func(*T) *N) member[T] {
	return member[T]{
		name: name, kind: aText, doc: doc,
		append: func(b []byte, from *T, _ *clock, json bool) []byte {
			if n := *at(from); n >= first {
				b = appendString(b, n.String(), json)
			}
			return b
		},
		parse: func(to *T, v *record.Value) error {
			for n := first; n <= last; n++ {
				if n.String() == v.Text() {
					*at(to) = n
					return nil
				}
			}
			return fmt.Errorf("unknown: %s", v)
		},
	}
}

type element[E any] struct {
	append func(b []byte, e *E, c *clock) []byte
	parse  func(v *record.Value) (E, error)
}

var (
	floats = element[float64]{func(b []byte, e *float64, _ *clock) []byte { return attrjson.AppendFloat(b, *e) }, parseFloat}
	counts = element[uint64]{func(b []byte, e *uint64, _ *clock) []byte { return attrjson.AppendUint(b, *e) }, parseCount}
)

func objects[E any](members []member[E]) element[E] {
	return element[E]{
		append: func(b []byte, e *E, c *clock) []byte { return appendObject(b, members, e, c) },
		parse: func(v *record.Value) (e E, err error) {
			err = parseObject(members, &e, v)
			return e, err
		},
	}
}

func array[T, E any](name, doc string, e element[E], at func(*T) *[]E) member[T] {
	return member[T]{
		name: name, kind: anArray, doc: doc,
		append: func(b []byte, from *T, c *clock, _ bool) []byte {
			list := *at(from)
			if len(list) == 0 {
				return b
			}
			for i := range list {
				b = append(b, "[,"[min(i, 1)])
				b = e.append(b, &list[i], c)
			}
			return append(b, ']')
		},
		parse: func(to *T, v *record.Value) error {
			elements := v.Fields()
			for i := range elements {
				one, err := e.parse(&elements[i].Value)
				if err != nil {
					return err
				}
				*at(to) = append(*at(to), one)
			}
			return nil
		},
	}
}

func appendObject[T any](b []byte, members []member[T], from *T, c *clock) []byte {
	b = append(b, '{')
	first := len(b)
	for i := range members {
		m := &members[i]
		start := len(b)
		if start > first {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.name...), `":`...)
		value := len(b)
		if b = m.append(b, from, c, true); len(b) == value {
			b = b[:start]
		}
	}
	return append(b, '}')
}

// parseObject reads the members of an object. It ignores unknown ones: later versions may add some.
func parseObject[T any](members []member[T], to *T, v *record.Value) error {
	values := v.Fields()
	for i := range values {
		f := &values[i]
		for i := range members {
			if members[i].name == f.Name {
				if err := members[i].parse(to, &f.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
