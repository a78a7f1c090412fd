package otlp

import (
	"encoding/base64"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// Names of attributes in the raw mapping.
const (
	keyRawPID     = "linux.user_events.process.pid"
	keyRawThread  = "linux.user_events.thread.id"
	keyRawPayload = "linux.user_events.payload_base64"

	rawOwnSize = 2*(memberSize+numberSize) + len(keyRawPID+keyRawThread)

	// maxFlatNames limits the bytes of the names that flat makes for a record. A struct beyond the limit stays a map.
	maxFlatNames = 256 << 10
)

// addRaw adds a log record that has the fields of a plain event as they are.
func (c *Converter) addRaw(ev *reader.Event) error {
	if ev.Kind != reader.KindOther {
		return fmt.Errorf("%s of process %d: the raw mapping needs plain events, see reader.DecodePlain: %w", ev.Name, ev.PID, errno.EINVAL)
	}
	lr := c.appendLog(c.originOf(ev))
	lr.SetTimestamp(timestamp(ev.Time))
	lr.SetObservedTimestamp(timestamp(ev.Time))
	name, nameSize := c.texts.keepName(ev.System + ":" + ev.Name)
	lr.SetEventName(name)
	to := lr.Attributes()
	c.names = 0
	c.flat = c.appendFlat(c.flat[:0], "", ev.Fields)
	c.reserve(to, len(c.flat))
	size := c.putAll(to, c.flat, 0) + nameSize + rawOwnSize
	clear(c.flat)
	if ev.Undecodable && len(ev.Raw) > tracepoint.CommonSize {
		payload := base64.StdEncoding.EncodeToString(ev.Raw[tracepoint.CommonSize:])
		putMissing(to, keyRawPayload, func(v pcommon.Value) { v.SetStr(payload) })
		size += len(payload) + len(keyRawPayload) + memberSize
	}
	if ev.PID != 0 {
		putMissing(to, keyRawPID, func(v pcommon.Value) { v.SetInt(int64(ev.PID)) })
	}
	if ev.TID != 0 {
		putMissing(to, keyRawThread, func(v pcommon.Value) { v.SetInt(int64(ev.TID)) })
	}
	c.logs.bytes += size
	return nil
}

// appendFlat appends fields with the members of structs in place of the structs, whose names come before theirs.
func (c *Converter) appendFlat(dst []reader.Field, prefix string, fields []reader.Field) []reader.Field {
	for i := range fields {
		f := fields[i]
		if prefix != "" {
			f.Name = prefix + "." + f.Name
		}
		members := f.Value.Fields()
		names := len(members) * (len(f.Name) + 1)
		if f.Value.Type() != reader.TypeMap || c.names+names > maxFlatNames {
			dst = append(dst, f)
			continue
		}
		c.names += names
		dst = c.appendFlat(dst, f.Name, members)
	}
	return dst
}
