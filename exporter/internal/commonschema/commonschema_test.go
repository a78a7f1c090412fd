package commonschema

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
