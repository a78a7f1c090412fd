package commonschema

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/eventheader"
)

func TestAppendTime(t *testing.T) {
	zone := time.FixedZone("", 3600)
	for ns, want := range map[int]string{
		0:           "2026-11-21T09:20:30Z",
		120_000_000: "2026-11-21T09:20:30.120Z",
		120_030_000: "2026-11-21T09:20:30.120030Z",
		120_030_004: "2026-11-21T09:20:30.120030004Z",
		1:           "2026-11-21T09:20:30.000000001Z",
	} {
		assert.Equal(t, want, string(AppendTime(nil, time.Date(2026, 11, 21, 10, 20, 30, ns, zone))))
	}
}

func TestTruncated(t *testing.T) {
	for _, limit := range []int{4000, 120} {
		var e eventheader.Encoder
		e.Begin(nil, &eventheader.Header{Name: "e", Level: eventheader.LevelInfo}, limit)
		e.String("text", string(make([]byte, 200)))
		payload, err := e.End()
		require.NoError(t, err)
		assert.Equal(t, limit < 200, Truncated(payload))
	}
}
