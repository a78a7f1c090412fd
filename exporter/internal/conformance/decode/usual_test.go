package decode

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/reader"
)

// TestFieldsJSONOfUsualRecords: the attributes of typed records stay as the program wrote them, and decoding without the option
// gives the same.
func TestFieldsJSONOfUsualRecords(t *testing.T) {
	for i, c := range usual {
		r := newRig(t)
		rec := r.writeUsual(i)
		kept := recordtest.CompareKept(t, r.decoder(rec), rec.Payload)
		assert.Equal(t, r.decoder(rec).Source() != "EventHeader", kept, c.name)
	}
}

// TestPlain: a plain event has every field of every adapter's records, in their order and as they are written.
func TestPlain(t *testing.T) {
	for i, c := range usual {
		t.Run(c.name, func(t *testing.T) {
			rig := newRig(t)
			rec := rig.writeUsual(i)
			d := rig.decoder(rec)
			var ev, interpreted reader.Event
			require.NoError(t, d.Decode(raw(rec), &ev, &reader.DecodeOptions{Mode: reader.DecodePlain}))
			assert.Equal(t, reader.KindOther, ev.Kind)
			assert.Equal(t, c.event, ev.Name)
			for _, s := range []string{ev.Message, ev.ServiceName, ev.ScopeName, ev.TraceState, ev.SeverityText} {
				assert.Empty(t, s)
			}
			assert.Empty(t, ev.Resource)
			assert.Nil(t, ev.Point)
			assert.True(t, ev.Timestamp.IsZero())
			require.NoError(t, d.Decode(raw(rec), &interpreted, nil))
			assert.NotEqual(t, reader.KindOther, interpreted.Kind)
			if ev.Header != nil {
				assert.Equal(t, interpreted.Header.Name, ev.EventName)
				return
			}
			var names []string
			for _, f := range ev.Fields {
				names = append(names, f.Name)
			}
			var declared []string
			for _, f := range rec.Declaration.Fields {
				declared = append(declared, f.Name)
			}
			assert.Equal(t, declared, names)
		})
	}
}
