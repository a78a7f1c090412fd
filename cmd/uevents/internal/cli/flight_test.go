package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTriggerOptions: a record triggers if it meets the trigger, and is selected.
func TestTriggerOptions(t *testing.T) {
	for _, c := range []struct {
		trigger string
		events  []string
		level   string
		want    string
	}{
		{"", nil, "", ""},
		{"", nil, "error", ""},
		{"", []string{"a_*"}, "", ""},
		{"", []string{"a_*"}, "error", "level >= error"},
		{"status >= 500 or has(x)", nil, "", "status >= 500 or has(x)"},
		{"status >= 500 or has(x)", []string{"a_*"}, "error", "(status >= 500 or has(x)) and (level >= error)"},
	} {
		f := flightFlags{trigger: c.trigger, triggerEvents: c.events, keep: "64M", atMost: "6/h", format: "txt"}
		f.level = c.level
		o, _, _, err := f.flightOptions([]string{"a"})
		require.NoError(t, err)
		got := ""
		if o.Trigger != nil {
			got = o.Trigger.String()
		}
		assert.Equal(t, c.want, got)
		assert.Equal(t, c.events, o.TriggerEvents)
	}
	f := flightFlags{trigger: "status >>", keep: "64M", atMost: "6/h"}
	f.level = "error"
	_, _, _, err := f.flightOptions(nil)
	assert.Equal(t, exitUsage, exitCode(err))
	assert.ErrorContains(t, err, "--trigger")
}
