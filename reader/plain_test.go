package reader_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

var plain = &reader.DecodeOptions{Mode: reader.DecodePlain}

// TestPlainTexts: escapes, JSON and the Common Schema are not interpreted.
func TestPlainTexts(t *testing.T) {
	var s schema
	s.begin("Log", eventheader.LevelError, value32Unsigned, 0x400)
	s.BeginStruct("PartB")
	s.text("_typeName", "Log")
	s.text("body", "a~nb")
	s.EndStruct()
	s.JSON("json", `{"a":1}`)
	format := formatOf(tracepoint.MustParse("x" + headerFields))
	format.Name = "myapp_L2K1"
	d, err := reader.NewDecoder("user_events", format)
	require.NoError(t, err)
	payload := rawOf(s.end(t))
	var ev reader.Event
	require.NoError(t, d.Decode(payload, &ev, nil))
	assert.Equal(t, "a\nb", ev.Message, "a record of this module")
	require.NoError(t, d.Decode(payload, &ev, plain))
	assert.Equal(t, reader.SeverityError, ev.Severity)
	assert.Equal(t, "Log", ev.EventName)
	assert.Equal(t, `{"__csver__":1024,"PartB":{"_typeName":"Log","body":"a\\nb"},"json":"{\"a\":1}"}`, string(reader.AppendJSON(nil, ev.Fields)))
}
