package kerneltest

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Types of events in a ring buffer, include/linux/ring_buffer.h. Up to typeDataMax the type
// is the length of the data in words of four bytes.
const (
	typeArray      = 0 // the length is in the first word of the data
	typeDataMax    = 28
	typePadding    = 29
	typeTimeExtend = 30
	typeTimeStamp  = 31

	deltaBits  = 27 // of a time difference in a header
	pageHeader = 16 // u64 time, u64 length of what follows, with flags above commitMask
	commitMask = 0xfffff
)

var errCut = errors.New("the page ends inside of an event")

// parsePage parses a page of a ring buffer as events/header_page and events/header_event
// describe it (kernel/trace/ring_buffer.c). ids are the events that may be in it.
func parsePage(ids map[uint16]string, cpu int, page []byte) (records []Record, err error) {
	order := binary.NativeEndian
	if len(page) < pageHeader {
		return nil, errCut
	}
	now := order.Uint64(page)
	commit := int(order.Uint32(page[8:]) & commitMask)
	if pageHeader+commit > len(page) {
		return nil, errCut
	}
	data := page[pageHeader : pageHeader+commit]
	for len(data) >= 4 {
		head := order.Uint32(data)
		data = data[4:]
		kind, delta := head&31, uint64(head>>5)
		if kind == typePadding && delta == 0 {
			return records, nil // nothing but padding follows
		}
		size := int(kind) * 4
		if kind == typeArray || kind > typeDataMax {
			if len(data) < 4 {
				return records, errCut
			}
			word := order.Uint32(data)
			switch kind {
			case typeArray: // the length counts its own word
				size = int(word) - 4
				data = data[4:]
			case typePadding: // an event that was given up; the length counts its own word here too
				now += delta
				if int(word) > len(data) {
					return records, errCut
				}
				data = data[word:]
				continue
			case typeTimeExtend:
				now += delta + uint64(word)<<deltaBits
				data = data[4:]
				continue
			case typeTimeStamp: // absolute, but for the bits above 59
				now = now&^(1<<59-1) | delta + uint64(word)<<deltaBits
				data = data[4:]
				continue
			}
		}
		if size < 8 || size > len(data) {
			return records, fmt.Errorf("event of %d bytes: %w", size, errCut)
		}
		now += delta
		id := order.Uint16(data)
		name, known := ids[id]
		if !known {
			return records, fmt.Errorf("record of the unknown event %d", id)
		}
		records = append(records, Record{
			Event: name, CPU: cpu, Time: now, PID: int32(order.Uint32(data[4:])),
			Payload: append([]byte(nil), data[8:size]...),
		})
		data = data[size:]
	}
	return records, nil
}
