package typedfield_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/tracepoint"
)

func nativeUint32(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }

// requireKernelAccepts checks what the kernel checks when a payload is written
// (user_events_write_core and user_event_validate in kernel/trace/trace_events_user.c).
func requireKernelAccepts(t testing.TB, d tracepoint.Declaration, payload []byte) {
	t.Helper()
	require.GreaterOrEqual(t, len(payload), d.FixedSize(), "EINVAL")
	at := 0
	for _, f := range d.Fields {
		if f.Type.Location != tracepoint.Fixed {
			word := nativeUint32(payload[at:])
			end := int(word&0xFFFF) + int(word>>16)
			if f.Type.Location == tracepoint.RelLoc {
				end += at + 4
			} else {
				end -= tracepoint.CommonSize
			}
			require.LessOrEqual(t, end, len(payload), "EFAULT: field %s", f.Name)
			if f.Type.Kind == tracepoint.Char || f.Type.Kind == tracepoint.UChar {
				require.Positive(t, end, f.Name)
				require.Zero(t, payload[end-1], "EFAULT: field %s does not end in NUL", f.Name)
			}
		}
		at += f.Type.FixedSize()
	}
}
