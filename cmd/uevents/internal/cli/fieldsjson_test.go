package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

// TestFieldsJSON: attributes stay JSON where package output writes records, which needs nothing else.
func TestFieldsJSON(t *testing.T) {
	_, o, err := newEnv().newWatcher(&watchFlags{outputFlags: outputFlags{format: "text", time: "local"}}, nil)
	require.NoError(t, err)
	assert.Equal(t, reader.DecodeJSON, o.Decode.Mode)
	for _, format := range recordingFormats {
		f := recordFlags{output: "t" + format.suffix}
		o, _, err := f.recordOptions([]string{"x"})
		require.NoError(t, err)
		assert.Equal(t, format.suffix == ".jsonl" || format.suffix == ".txt", o.Decode.Mode == reader.DecodeJSON, format.suffix)
	}
}
