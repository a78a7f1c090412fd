package figures

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const output = `# kernel 6.12: up after 4.9 s (icount)
go: go1.26.8
goos: linux
pkg: github.com/userevents/userevents-go/benchmarks
cpu: QEMU TCG CPU version 2.5+
BenchmarkOn/zap/five         	    2000	       100.5 ns/op	     320 B/op	       1 allocs/op
BenchmarkOn/zap/five-2       	    2000	        90.25 ns/op	     320 B/op	       1 allocs/op
BenchmarkOn/zap/five         	    2000	       110 ns/op	     320 B/op	       1 allocs/op
BenchmarkOff/events=100         	    1000	      1000 ns/op	  7 MB/s	  0.25 lost/op	  4096 bytes
PASS
pkg: github.com/userevents/userevents-go/encode/typed
BenchmarkPlan/HTTPRequest    	     400	     292.5 ns/op	       0 B/op	       0 allocs/op
ok  	github.com/userevents/userevents-go/encode/typed	1.2s
`

func TestParse(t *testing.T) {
	run, err := Parse(strings.NewReader(output))
	require.NoError(t, err)
	want := &Run{
		Unit:  "ns/op",
		About: map[string]string{"go": "go1.26.8", "goos": "linux", "cpu": "QEMU TCG CPU version 2.5+"},
		Figures: map[string]Figure{
			"On/zap/five":                   {Calls: 2000, Cost: 90.25, Bytes: 320, Allocs: 1},
			"Off/events=100":                {Calls: 1000, Cost: 1000, Others: map[string]float64{"lost/op": 0.25, "bytes": 4096}},
			"encode/typed:Plan/HTTPRequest": {Calls: 400, Cost: 292.5},
		},
	}
	assert.Equal(t, want, run)

	run.Unit = Instructions
	var kept strings.Builder
	_, err = run.WriteTo(&kept)
	require.NoError(t, err)
	assert.Equal(t, `cpu: QEMU TCG CPU version 2.5+
go: go1.26.8
goos: linux
pkg: github.com/userevents/userevents-go/benchmarks
BenchmarkOff/events=100 1000 1000 instructions/op 0 B/op 0 allocs/op 4096 bytes 0.25 lost/op
BenchmarkOn/zap/five 2000 90.25 instructions/op 320 B/op 1 allocs/op
pkg: github.com/userevents/userevents-go/encode/typed
BenchmarkPlan/HTTPRequest 400 292.5 instructions/op 0 B/op 0 allocs/op
`, kept.String())
	again, err := Parse(strings.NewReader(kept.String()))
	require.NoError(t, err)
	assert.Equal(t, run, again)
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{"BenchmarkX 1 1.2.3 ns/op", "BenchmarkX 99999999999999999999 1 ns/op", "BenchmarkX 1 7 MB/s"} {
		_, err := Parse(strings.NewReader(line))
		assert.ErrorContains(t, err, line)
	}
}
