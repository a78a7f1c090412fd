package kerneltest

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/uevents"
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

// TestVerdict: a skip must be justified.
func TestVerdict(t *testing.T) {
	unknown := errors.New("could not tell")
	for _, c := range []struct {
		err    error
		native string
	}{
		{nil, ""},
		{uevents.ErrNotSupported, skip},
		{uevents.ErrNotSupportedOnOS, skip},
		{fmt.Errorf("open: %w", fs.ErrPermission), skip},
		{fmt.Errorf("open: %w", fs.ErrNotExist), skip},
		{unknown, "it could not be told whether this machine has user_events"},
	} {
		assert.Equal(t, c.native, verdict(c.err, false), "%v", c.err)
		assert.Equal(t, c.err == nil, verdict(c.err, true) == "", "in a guest nothing is skipped: %v", c.err)
		assert.NotEqual(t, skip, verdict(c.err, true))
	}
}
