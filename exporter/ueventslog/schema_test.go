package ueventslog

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSeveritySchema: the fixed schema is valid, and leaves room for names of any use.
func TestSeveritySchema(t *testing.T) {
	d := severitySchema.layout.Declaration()
	require.NoError(t, d.Validate())
	assert.LessOrEqual(t, len(d.String())-len(d.Name), 425)
	s, err := newSchema("any", []field{})
	require.NoError(t, err)
	d = s.layout.Declaration()
	assert.LessOrEqual(t, len(d.String())-len(d.Name), 511-210, "what the documentation of Record promises")
}
