package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/text"
)

// Encoder encodes records as JSON. The zero Encoder is ready to use, by one goroutine. It is fast for records that have much in common with
// those before them.
type Encoder struct {
	times times

	// Of the previous record:
	name    nameMembers
	process keyedMembers[processKey]
	thread  keyedMembers[threadKey]
}

// Append appends a record as one JSON object in one line, with the members that the record has: see [Members]. Later versions may add
// members, but do not change the meaning of any. It is safe to print. Bytes are base64, numbers have all their digits. [Parser] reads it.
func (e *Encoder) Append(dst []byte, rec *Record) []byte {
	start := len(dst)
	lists := &around[partsOf(rec)]
	b := appendMembers(dst, lists[0], rec, &e.times)
	from := len(b)
	if e.name.is(rec) {
		b = append(b, e.name.members...)
	} else {
		b = appendMembers(b, nameList, rec, &e.times)
		e.name.keep(b[from:], rec)
	}
	b = appendMembers(b, lists[1], rec, &e.times)
	from = len(b)
	if key := (processKey{rec.Process, rec.PID}); e.process.is(key) {
		b = append(b, e.process.members...)
	} else {
		b = appendMembers(b, processList, rec, &e.times)
		e.process.keep(b[from:], key)
	}
	from = len(b)
	if key := (threadKey{rec.TID, rec.CPU}); e.thread.is(key) {
		b = append(b, e.thread.members...)
	} else {
		b = appendMembers(b, threadList, rec, &e.times)
		e.thread.keep(b[from:], key)
	}
	b = appendMembers(b, lists[2], rec, &e.times)
	b[start] = '{' // in place of the comma in front of the time, which all records have
	return append(b, '}')
}

// AppendMember appends the value of a member. It appends nothing if the record lacks it.
func (e *Encoder) AppendMember(dst []byte, m *Member, rec *Record) []byte {
	return m.of.put(dst, rec, &e.times)
}

// nameMembers are the name and the severity of the previous record, as JSON.
type nameMembers struct {
	members      []byte // nil: empty
	decoder      *Decoder
	system, name string
	kind         Kind
	severity     Severity
	text         []byte // a copy, since the original may share the memory of a record
}

func (m *nameMembers) is(rec *Record) bool {
	return m.members != nil && m.kind == rec.Kind && m.severity == rec.Severity && string(m.text) == rec.SeverityText &&
		(rec.Decoder != nil && m.decoder == rec.Decoder || m.name == rec.Name && m.system == rec.System) // a decoder is of one name
}

func (m *nameMembers) keep(members []byte, rec *Record) {
	m.members, m.decoder, m.system, m.name, m.kind = append(m.members[:0], members...), rec.Decoder, rec.System, rec.Name, rec.Kind
	m.severity, m.text = rec.Severity, append(m.text[:0], rec.SeverityText...)
}

func (m *nameMembers) set(rec *Record) {
	rec.System, rec.Name, rec.Kind, rec.Severity, rec.SeverityText = m.system, m.name, m.kind, m.severity, stringOf(m.text)
}

// keyedMembers are members of the previous record, as JSON, with the values that they depend on.
type keyedMembers[K comparable] struct {
	members []byte
	known   bool
	key     K
}

func (m *keyedMembers[K]) is(key K) bool { return m.known && m.key == key }

func (m *keyedMembers[K]) keep(members []byte, key K) {
	m.members, m.known, m.key = append(m.members[:0], members...), true, key
}

type processKey struct {
	process *Process
	pid     int32
}

type threadKey struct {
	tid int32
	cpu int
}

// Members with the same values in most consecutive records: those of process and thread follow each other.
var (
	firstName, endName       = indexOf("system"), indexOf("severity_text") + 1
	firstProcess, endProcess = indexOf("program"), indexOf("process_service") + 1
	endThread                = indexOf("cpu") + 1

	nameList, processList, threadList = recordMembers[firstName:endName], recordMembers[firstProcess:endProcess], recordMembers[endProcess:endThread]
)

func indexOf(name string) int {
	return slices.IndexFunc(recordMembers, func(m *member[Record]) bool { return m.name == name })
}

// around has the other members of records that have parts, in order: those before nameList, those behind it, and those behind threadList.
var around = func() (lists [allParts + 1][3][]*member[Record]) {
	for have := range lists {
		for i, list := range [][]*member[Record]{recordMembers[:firstName], recordMembers[endName:firstProcess], recordMembers[endThread:]} {
			for _, m := range list {
				if m.part&^part(have) == 0 {
					lists[have][i] = append(lists[have][i], m)
				}
			}
		}
	}
	return lists
}()

// times have the second of previous times, which most times share with the next one.
type times struct{ kernel, other second }

// second is a second in UTC with its text, which begins with a quote.
type second struct {
	unix int64
	text text.Short
}

const secondLayout, timeLayout = `"2006-01-02T15:04:05.`, "2006-01-02T15:04:05.000000000Z"

func (s *second) set(t time.Time) {
	s.unix = t.Unix()
	s.text.Set(t.UTC().AppendFormat(s.text.Bytes()[:0], secondLayout))
}

// append appends a time of RFC 3339 in UTC, in quotes, with all nine digits of the nanoseconds, so that texts sort like times.
func (s *second) append(b []byte, t time.Time) []byte {
	if len(s.text.Bytes()) == 0 || t.Unix() != s.unix {
		s.set(t)
	}
	return append(attrjson.AppendNanoseconds(s.text.Append(b), uint32(t.Nanosecond())), 'Z', '"')
}

// parse parses a time of RFC 3339.
func (s *second) parse(v *Value) (time.Time, error) {
	str := v.Text()
	known := len(str) == len(timeLayout) && str[len(str)-1] == 'Z'
	if before := s.text.Bytes(); known && len(before) == len(secondLayout) && str[:len(before)-1] == string(before[1:]) {
		if ns, ok := nineDigits(str[len(before)-1 : len(str)-1]); ok {
			return time.Unix(s.unix, ns).UTC(), nil
		}
	}
	t, err := time.Parse(time.RFC3339Nano, str)
	if err != nil {
		return time.Time{}, fmt.Errorf("no time: %s", v)
	}
	if known {
		s.set(t)
	}
	return t.UTC(), nil
}

func nineDigits(s string) (n int64, ok bool) {
	for _, c := range []byte(s) {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
