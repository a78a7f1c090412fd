package benchmarks

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// bare is how an event of its own, whose fields are of the kernel's types, says a part of the
// record.
var bare = map[string]string{message: "bench_", "false": "cached=0", "true": "secure=1"}

// TestOwn: every way writes the whole record, and nothing when disabled.
func TestOwn(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, o := range owns {
		for _, s := range o.all() {
			t.Run(o.name+"/"+s.name, func(t *testing.T) {
				log, event := o.open(t, uniqueName(), s)
				i := kerneltest.NewInstance(t, fs, 64)
				log()
				i.Attach(event)
				assert.Empty(t, i.Records())
				log()
				records := i.Records()
				require.Len(t, records, 1)
				text := decoded(t, fs.Event(event), records[0].Payload)
				for _, part := range s.parts() {
					if o.bare {
						part = cmp.Or(bare[part], part)
					}
					assert.Contains(t, text, part)
				}
			})
		}
	}
}

// decoded returns a record as text.
func decoded(t *testing.T, event *tracefs.Event, payload []byte) string {
	f, err := event.Format()
	require.NoError(t, err)
	d, err := f.Declaration()
	require.NoError(t, err)
	decoder, err := typed.NewDecoder(d, nil)
	require.NoError(t, err)
	r, err := decoder.Decode(payload)
	require.NoError(t, err)
	return r.String()
}
