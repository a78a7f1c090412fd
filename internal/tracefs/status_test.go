package tracefs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/tracefs"
)

var errReading = errors.New("reading failed")

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errReading }

func TestParseStatus(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       tracefs.Status
	}{
		{
			"6.4 and later", "one # Used by ftrace perf\ntwo\nthree.1f # Used by ftrace perf other\n\nActive: 3\nBusy: 2\n",
			tracefs.Status{
				Events: []tracefs.EventStatus{
					{Name: "one", Index: -1, UsedBy: []string{"ftrace", "perf"}},
					{Name: "two", Index: -1},
					{Name: "three.1f", Index: -1, UsedBy: []string{"ftrace", "perf", "other"}},
				},
				Active: 3, Busy: 2,
			},
		},
		{
			"status bits", "1:one # Used by other\n12:two\n32767:three #\n\nActive: 3\nBusy: 1\nMax: 32768\n",
			tracefs.Status{
				Events: []tracefs.EventStatus{{Name: "one", Index: 1, UsedBy: []string{"other"}}, {Name: "two", Index: 12}, {Name: "three", Index: 32767}},
				Active: 3, Busy: 1, Max: 32768,
			},
		},
		{"status bytes, without events", "\nActive: 0\nBusy: 0\nMax: 4096\n", tracefs.Status{Max: 4096}},
		{"without events", "\nActive: 0\nBusy: 0\n", tracefs.Status{}},
		{"no newline at the end", "one\n\nActive: 1\nBusy: 0", tracefs.Status{Events: []tracefs.EventStatus{{Name: "one", Index: -1}}, Active: 1}},
		{
			"names with newlines", "one\nx\n\nActive # Used by perf\ntwo\nx\n\nActive:\n\n\nBusy:x\n\nActive: # Used by ftrace\n\nActive: 5\nBusy: 0\n",
			tracefs.Status{
				Events: []tracefs.EventStatus{
					{Name: "one", Index: -1}, {Name: "x", Index: -1}, {Name: "Active", Index: -1, UsedBy: []string{"perf"}}, {Name: "two", Index: -1},
				},
				Active: 5,
			},
		},
		{
			"a name that has another one as a line", "x\none # Used by ftrace\none # Used by perf ftrace\n3:two\n1:x\ntwo # Used by perf\n\nActive: 4\nBusy: 3\n",
			tracefs.Status{
				Events: []tracefs.EventStatus{
					{Name: "x", Index: 1}, {Name: "one", Index: -1, UsedBy: []string{"ftrace", "perf"}}, {Name: "two", Index: 3, UsedBy: []string{"perf"}},
				},
				Active: 4, Busy: 3,
			},
		},
		{
			"no names of tracepoints", "x:one\n-1:one\n1:\n # Used by ftrace\n #\n..\n../x\n1:/\ntwo\n\nActive: 9\nBusy: 0\n",
			tracefs.Status{Events: []tracefs.EventStatus{{Name: "two", Index: -1}}, Active: 9},
		},
		{
			"what later kernels may say", "one # Pinned\n\nActive: 1\nBusy: 0\nLater: x\n# Used by ftrace\n",
			tracefs.Status{Events: []tracefs.EventStatus{{Name: "one", Index: -1}}, Active: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := tracefs.ParseStatus(strings.NewReader(c.text))
			assert.NoError(t, err)
			assert.Equal(t, &c.want, got)
		})
	}
}

func TestParseStatusMalformed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "no totals"},
		{"one\n", "no totals"},
		{"one\n\nActive:1\nBusy: 0\n", "no totals"},
		{"one\nActive: 1\nBusy: 0\n", "no totals"},
		{"one\n\nActive: many\n", "no totals"},
		{"one\n\nActive: 1\nBusy: -1\n", `malformed line "Busy: -1"`},
		{"one\n\nActive: 99999999999999999999\n", "malformed line"},
		{strings.Repeat("x", 1<<20), "too long"},
	} {
		got, err := tracefs.ParseStatus(strings.NewReader(c.text))
		assert.ErrorContains(t, err, c.want, "%.100q", c.text)
		assert.Nil(t, got)
	}
	_, err := tracefs.ParseStatus(failingReader{})
	assert.ErrorIs(t, err, errReading)
}
