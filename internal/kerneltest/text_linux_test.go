package kerneltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDump(t *testing.T) {
	const trace = `# tracer: nop
           <...>-50      [001] .....     2.179218:
00000000: bf 03 00 00 32 00 00 00 68 65 6c 6c 6f 20 77 6f  ....2...hello wo
00000010: 72 6c 64 00                                      rld.
           <...>-50      [001] .....     2.179218: bprint: 00000000: not a dump
`
	assert.Equal(t, "\xbf\x03\x00\x002\x00\x00\x00hello world\x00", string(dump(trace)))
}
