package soak

import (
	"encoding/binary"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/uevents"
)

// check is a number that only a record of this writer with this number has.
func check(writer, n uint64) uint64 { return (writer<<56 ^ n) * 0x9e3779b97f4a7c15 }

func rawRecord(writer, n uint64) []byte {
	rec := make([]byte, uevents.IndexSize, uevents.IndexSize+24)
	for _, v := range []uint64{writer, n, check(writer, n)} {
		rec = binary.NativeEndian.AppendUint64(rec, v)
	}
	return rec
}

// isRaw reports whether the event is a record of rawRecord.
func isRaw(ev *reader.Event) bool {
	if len(ev.Fields) != 3 {
		return false
	}
	writer, n := ev.Fields[0].Value.Uint64(), ev.Fields[1].Value.Uint64()
	return writer < writers && ev.Fields[2].Value.Uint64() == check(writer, n)
}
