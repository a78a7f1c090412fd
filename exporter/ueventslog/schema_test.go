package ueventslog

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSeveritySchema: the fields of the severities' events leave room for names of 52 bytes.
func TestSeveritySchema(t *testing.T) {
	d := severitySchema.Declaration("any")
	require.NoError(t, d.Validate())
	assert.LessOrEqual(t, len(d.String())-len(d.Name)+52+len("_log_debug"), 511)
}
