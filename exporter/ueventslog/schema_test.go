package ueventslog

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/adapter/payload"
)

// TestSeveritySchema: the fields of the severities' events leave room for names of 52 bytes.
func TestSeveritySchema(t *testing.T) {
	d := severitySchema.Declaration("any")
	require.NoError(t, d.Validate())
	assert.LessOrEqual(t, len(d.String())-len(d.Name)+52+len("_log_debug"), 511)
}

// TestMaxFields: the kernel takes no event with one field more.
func TestMaxFields(t *testing.T) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	fields := slices.Clone(recordHead)
	for i := range maxFields + 1 {
		fields = append(fields, payload.Field{Name: letters[i : i+1], Type: payload.U8})
	}
	_, err := payload.NewSchema("a_log_e", append(fields, recordTail...))
	require.ErrorContains(t, err, "the kernel takes 511")
}
