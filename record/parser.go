package record

import (
	"errors"
	"fmt"
	"strings"
)

// Parser parses the JSON objects that an [Encoder] writes. The zero Parser is ready to use, by one goroutine. It is fast for objects that
// have much in common with those before them.
type Parser struct {
	times     times
	found     [maxMembers]uint8        // by member, the next one that was found from there on
	name      nameMembers              // of the previous record
	process   keyedMembers[processKey] // the same
	thread    keyedMembers[threadKey]  // the same
	processes map[Process]*Process
	names     map[string]string
	own       Process // of the record
	value     Value   // of a member
}

const (
	maxKnown     = 4096 // processes and names that a Parser keeps
	maxKnownName = 512  // length of such a name
	maxMembers   = 64   // at least the number of members
)

// Parse sets rec from a JSON object. It ignores unknown members: later versions may add some. Of members with the same name, the last one
// counts. An error says what is no member of a record. Types that JSON does not have change: bytes become base64 texts, and numbers that
// are not finite texts.
//
// Process, System and Name stay valid. The rest of rec refers to the text and reuses the memory of rec: it is valid until the next call or
// until rec is decoded into, or the text changes. [Record.Clone] returns a copy without these limits.
func (p *Parser) Parse(object []byte, rec *Record) error {
	j := p.begin(object, rec)
	if !p.inOrder(&j, rec) {
		p.name.members, p.process.members, p.thread.members = nil, nil, nil
		j = p.begin(object, rec)
		if err := p.inAnyOrder(&j, rec); err != nil {
			return err
		}
	}
	if rec.Kind == KindMetric && rec.Point == nil {
		return errors.New("a metric without a point")
	}
	return nil
}

// begin makes rec an empty record with a process, which is set next.
func (p *Parser) begin(object []byte, rec *Record) jsonText {
	s := rec.scratch
	if s == nil {
		s = new(scratch)
	}
	s.begin()
	*rec = Record{}
	rec.CPU, rec.scratch = -1, s
	p.own = Process{}
	rec.Process = &p.own
	return jsonText{s: stringOf(object), scratch: s, keeps: true}
}

// inOrder reads an object with members in the order of an Encoder, and unknown ones only at its end. Parts that are the same as in the
// previous object are not read again. It returns false for any other text, and for values that are not valid.
func (p *Parser) inOrder(j *jsonText, rec *Record) bool {
	j.depth = 1
	if !strings.HasPrefix(j.s, "{") || !p.next(j, rec, 0, firstName) {
		return false
	}
	if start := j.i; j.skip(p.name.members) {
		p.name.set(rec)
	} else {
		if !p.next(j, rec, firstName, endName) {
			return false
		}
		p.keepNames(rec)
		p.name.keep(bytesOf(j.s[start:j.i]), rec)
	}
	if !p.next(j, rec, endName, firstProcess) {
		return false
	}
	if start := j.i; j.skip(p.process.members) {
		rec.Process, rec.PID = p.process.key.process, p.process.key.pid
	} else {
		if !p.next(j, rec, firstProcess, endProcess) {
			return false
		}
		p.keepProcess(rec)
		p.process.keep(bytesOf(j.s[start:j.i]), processKey{rec.Process, rec.PID})
	}
	if start := j.i; j.skip(p.thread.members) {
		rec.TID, rec.CPU = p.thread.key.tid, p.thread.key.cpu
	} else {
		if !p.next(j, rec, endProcess, endThread) {
			return false
		}
		p.thread.keep(bytesOf(j.s[start:j.i]), threadKey{rec.TID, rec.CPU})
	}
	return p.next(j, rec, endThread, len(recordMembers)) && j.i > 0 && j.unknownRest()
}

// next sets the members of a range that are next in the text, which are in order. It ends at a comma or at the last bracket.
func (p *Parser) next(j *jsonText, rec *Record, first, end int) bool {
	for n := first; n < end; n++ {
		at := int(p.found[n])
		if at < n || at >= end || !j.key(recordMembers[at]) {
			for at = n; !j.key(recordMembers[at]); {
				if at++; at == end {
					return true
				}
			}
			p.found[n] = uint8(at)
		}
		n = at
		m, v := recordMembers[at], &p.value
		*v = Value{}
		if !j.value(m.name, v) || j.i >= len(j.s) || j.s[j.i] != ',' && j.s[j.i] != '}' {
			return false
		}
		if m.set(rec, v, &p.times) != nil {
			return false
		}
	}
	return true
}

// inAnyOrder reads any JSON object.
func (p *Parser) inAnyOrder(j *jsonText, rec *Record) error {
	s := rec.scratch
	list := room(s.members)
	if !j.object(&list) {
		return errors.New("no JSON object")
	}
	s.members = list
	var values [maxMembers]*Value // the last one of each member
	found := false
	for i := range list {
		if m := memberOf[list[i].Name]; m != nil && m.index < len(recordMembers) {
			values[m.index], found = &list[i].Value, true
		}
	}
	if !found {
		return errors.New("no member is one of a record")
	}
	for i, m := range recordMembers {
		if values[i] == nil {
			continue
		}
		if err := m.set(rec, values[i], &p.times); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	p.keepNames(rec)
	p.keepProcess(rec)
	return nil
}

// keepNames makes the names of rec stay valid.
func (p *Parser) keepNames(rec *Record) {
	for _, name := range []*string{&rec.System, &rec.Name} {
		kept, ok := p.names[*name]
		if !ok {
			kept = strings.Clone(*name)
			if p.names == nil || len(p.names) >= maxKnown {
				p.names = map[string]string{}
			}
			if len(kept) <= maxKnownName {
				p.names[kept] = kept
			}
		}
		*name = kept
	}
}

// keepProcess makes the process of rec one that stays valid, or nil if the object has none.
func (p *Parser) keepProcess(rec *Record) {
	if p.own == (Process{}) {
		rec.Process = nil
		return
	}
	p.own.PID = rec.PID
	if rec.Process = p.processes[p.own]; rec.Process != nil {
		return
	}
	if p.processes == nil || len(p.processes) >= maxKnown {
		p.processes = map[Process]*Process{}
	}
	kept := p.own.clone()
	p.processes[*kept], rec.Process = kept, kept
}
