package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

// TestFieldsJSON: attributes stay JSON where nothing but the output of whole records as JSON needs them.
func TestFieldsJSON(t *testing.T) {
	for _, c := range []struct {
		f    outputFlags
		want bool
	}{
		{outputFlags{format: "json", time: "local"}, true},
		{outputFlags{format: "json", time: "local", fields: []string{"status"}}, false},
		{outputFlags{format: "json", time: "local", grep: "x"}, false},
		{outputFlags{format: "text", time: "local"}, false},
		{outputFlags{format: "{{.status}}", time: "local"}, false},
	} {
		_, o, err := newEnv().newWatcher(&watchFlags{outputFlags: c.f}, nil)
		require.NoError(t, err)
		assert.Equal(t, c.want, o.Decode.Mode == reader.DecodeJSON, "%+v", c.f)
	}
	for _, format := range recordingFormats {
		f := recordFlags{output: "t" + format.suffix}
		o, _, err := f.recordOptions([]string{"x"}, nil)
		require.NoError(t, err)
		assert.Equal(t, format.suffix == ".jsonl", o.Decode.Mode == reader.DecodeJSON, format.suffix)
	}
}
