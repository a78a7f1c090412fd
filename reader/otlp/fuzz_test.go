package otlp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// maxRecordSize exceeds the size of the data of any record. OTLP requests with thousands of empty resources, each of which
// gets attributes, have the largest.
const maxRecordSize = 16 << 20

// FuzzAdd converts any payload of the events of all kinds, and of any EventHeader event.
func FuzzAdd(f *testing.F) {
	decoders := map[string]*reader.Decoder{}
	for _, samples := range goldenSamples(f) {
		for _, s := range samples {
			decoders[s.Event] = s.Decoder
			for _, raw := range []bool{false, true} {
				f.Add(s.Event, s.Payload(), raw)
			}
		}
	}
	f.Fuzz(func(t *testing.T, name string, payload []byte, raw bool) {
		if len(payload) > math.MaxUint16 {
			return // more than a record can have
		}
		d := decoders[name]
		if d == nil {
			format := recordtest.Format("x" + headerFields)
			format.Name = name
			var err error
			if d, err = reader.NewDecoder("user_events", format); err != nil {
				return
			}
		}
		var decode reader.DecodeOptions
		if raw {
			decode.Mode = reader.DecodePlain
		}
		var ev reader.Event
		record := append(make([]byte, tracepoint.CommonSize), payload...)
		err := d.Decode(record, &ev, &decode)
		ev.Undecodable = err != nil
		ev.Time, ev.Monotonic, ev.PID, ev.TID, ev.Process, ev.Raw = written, 1, 812, 815, myapp, record

		c := NewConverter(&Options{Raw: raw})
		if err := c.Add(&ev); err != nil {
			require.Equal(t, Stats{Malformed: 1}, c.Stats())
			require.Equal(t, Pending{}, c.Pending())
			return
		}
		c.Flush()
		require.LessOrEqual(t, c.Pending().Bytes, maxRecordSize)
		st := c.Stats()
		require.LessOrEqual(t, st.LogRecords+st.Spans+st.OrphanLinks+st.OrphanExemplars, uint64(1))
		if !isRequest(&ev) {
			assert.Equal(t, uint64(1), st.LogRecords+st.Spans+st.DataPoints+st.OrphanLinks+st.OrphanExemplars, "no event disappears")
		}
		takeJSON(t, c)
	})
}

func isRequest(ev *reader.Event) bool {
	return ev.Kind == reader.KindMetric && ev.Point.Type == reader.PointOTLP
}
