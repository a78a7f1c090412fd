package reader

import (
	"fmt"
	"io/fs"
	"time"

	"github.com/userevents/userevents-go/record"
)

// Undecoded is a record of an attached event that is not decoded yet, and may not be selected. Its fields are those of [record.Record] that
// do not depend on the event. It refers to no memory of the Reader, and may be kept and copied.
type Undecoded struct {
	Time      time.Time
	Monotonic uint64
	CPU       int
	PID, TID  int32
	CgroupID  uint64
	Process   *record.Process
	Decoder   *record.Decoder // of the record's event

	reader  *Reader
	reading *reading
}

// NextUndecoded waits for the next record as [Reader.Next] does, and leaves decoding and the rest of the selection to
// [Undecoded.Decode], for callers that empty the rings first. raw is the whole record, and valid until the Reader reads the next one.
func (r *Reader) NextUndecoded(u *Undecoded) (raw []byte, err error) {
	if u == nil {
		return nil, fmt.Errorf("reader: NextUndecoded needs a place for the record: %w", fs.ErrInvalid)
	}
	rd, process, err := r.read(false)
	if err != nil {
		return nil, err
	}
	rec := &r.record
	u.Time, u.Monotonic, u.CPU, u.PID, u.TID, u.CgroupID = rec.Time, rec.Monotonic, rec.CPU, rec.PID, rec.TID, rec.CgroupID
	u.Process, u.Decoder, u.reader, u.reading = process, rd.decoder, r, rd
	return rec.Raw, nil
}

// Decode decodes the record into rec, which shares the memory of raw as with [record.Decoder.DecodeReuse], and has no Callchain. It reports
// whether the record is selected, by the selection of the time at which it was read, or else whether that is because it is the copy of a
// declared record. One goroutine, which may be another
// one than that of the Reader, decodes all records of the Reader in their order. A record that no Reader returned is selected.
func (u *Undecoded) Decode(raw []byte, rec *record.Record) (selected, isCopy bool) {
	err := u.Decoder.DecodeReuse(raw, rec)
	rec.Time, rec.Monotonic, rec.CPU, rec.PID, rec.TID = u.Time, u.Monotonic, u.CPU, u.PID, u.TID
	rec.CgroupID, rec.Callchain, rec.Process = u.CgroupID, nil, u.Process
	if u.reader == nil {
		return true, false
	}
	selected, isCopy = u.reading.wants(rec)
	u.reader.count(selected, isCopy, err)
	return selected, isCopy
}
