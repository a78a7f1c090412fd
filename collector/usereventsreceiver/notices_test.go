package usereventsreceiver

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadatatest"
	"github.com/userevents/userevents-go/reader"
)

// TestLeftOut: events beyond the limits are named in the log, as far as it has room for them, and all are counted.
func TestLeftOut(t *testing.T) {
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, telemetry.Shutdown(context.Background())) })
	set := metadatatest.NewSettings(telemetry)
	core, logged := observer.New(zap.DebugLevel)
	set.Logger = zap.New(core)
	s, err := newSession(set, fast(), nil)
	assert.NoError(t, err)
	for i := range 10 * maxNamed {
		s.notice(reader.Notice{Kind: reader.NoticeFailed, Event: fmt.Sprintf("user_events:e%d", i), Err: reader.ErrTooManyEvents})
	}
	s.notice(reader.Notice{Kind: reader.NoticeFailed, Event: "user_events:other", Err: assert.AnError})
	assert.Equal(t, maxNamed+2, logged.Len())
	assert.Equal(t, "user_events:e0", logged.All()[0].ContextMap()["event"])
	assert.EqualValues(t, 10*maxNamed+1, counter(t, telemetry, "user_events_failed_attachments"))
}
