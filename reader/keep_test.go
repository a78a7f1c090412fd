package reader_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
)

// TestEventsAreCopies: an event stays what it was when the memory of its record has other records, and the Event is decoded into
// again, also with reuse.
func TestEventsAreCopies(t *testing.T) {
	type sample struct {
		d   *reader.Decoder
		raw []byte
	}
	var samples []sample
	for i := range usual {
		r := newRig(t)
		rec := r.writeUsual(i)
		samples = append(samples, sample{r.decoder(rec), raw(rec)})
	}
	r := newRig(t)
	for _, rec := range r.writeMetrics(onePointOfEach()) {
		samples = append(samples, sample{r.decoder(rec), raw(rec)})
	}
	for _, c := range foreignHeaders {
		samples = append(samples, sample{headerDecoder(t, c.tracepoint), rawOf(unhex(t, c.payload))})
	}
	for _, mode := range []reader.DecodeMode{reader.DecodeFull, reader.DecodePlain, reader.DecodeJSON} {
		var want, kept, clones []*reader.Event
		var ev reader.Event
		buf := make([]byte, 4<<10)
		for _, s := range samples {
			own := new(reader.Event)
			require.NoError(t, s.d.Decode(s.raw, own, &reader.DecodeOptions{Mode: mode}))
			want = append(want, own)

			b := buf[:copy(buf, s.raw)]
			require.NoError(t, s.d.Decode(b, &ev, &reader.DecodeOptions{Mode: mode, Reuse: true}))
			clones = append(clones, ev.Clone())
			require.NoError(t, s.d.Decode(b, &ev, &reader.DecodeOptions{Mode: mode}))
			kept = append(kept, new(ev))
			copy(buf, bytes.Repeat([]byte{'#'}, len(buf)))
		}
		for i := range want {
			assert.Equal(t, want[i], kept[i])
			assert.Equal(t, describe(want[i]), describe(clones[i]))
			assert.Equal(t, want[i].FieldsJSON, clones[i].FieldsJSON)
		}
	}
}

// TestDecodeAllocations: without reuse, an event allocates its bytes and its fields; of the EventHeader format, also the header, its
// name, and the elements of structs.
func TestDecodeAllocations(t *testing.T) {
	if testscale.Race {
		t.Skip("not under the race detector: it allocates")
	}
	for i, want := range []float64{2, 5, 2, 7, 2, 7} {
		r := newRig(t)
		rec := r.writeUsual(i)
		d, raw := r.decoder(rec), raw(rec)
		var ev reader.Event
		assert.Equal(t, want, testing.AllocsPerRun(100, func() {
			if err := d.Decode(raw, &ev, nil); err != nil {
				t.Fatal(err)
			}
		}), usual[i].name)
	}
}
