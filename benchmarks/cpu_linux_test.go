package benchmarks

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/sys/systest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// cpuTime returns the processor time that a process has taken, the kernel's work for it included. 0 is this process.
func cpuTime(pid int) (time.Duration, error) { return systest.ProcessTime(pid) }

// TestCPUTime: the processor time of this process and of another one grows with their work and not with their waiting.
func TestCPUTime(t *testing.T) {
	c := startCollector(t)
	for _, pid := range []int{0, c.pid} {
		now := func() time.Duration {
			v, err := cpuTime(pid)
			require.NoError(t, err)
			return v
		}
		testscale.Eventually(t, func() bool { // what its start leaves behind may take processor time
			begin, before := time.Now(), now()
			time.Sleep(50 * time.Millisecond)         //nolint:forbidigo // the wait that takes no processor time
			return now()-before < time.Since(begin)/2 //nolint:forbidigo // a slow machine makes it longer
		}, "waiting takes processor time")
		before := now()
		for range 100 {
			c.ask(t)
		}
		assert.Greater(t, now(), before)
	}
	_, err := cpuTime(1<<22 + 1) // no process has that number
	assert.ErrorContains(t, err, "process 4194305")
}

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
