package usereventsreceiver

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
)

// TestFanOut: a pipeline that has accepted a part of the data says nothing of another one, which gets all of it again, and a pipeline that
// refuses data for good takes none from another one.
func TestFanOut(t *testing.T) {
	for name, first := range map[string]func(plog.Logs) error{
		"part":      func(plog.Logs) error { return consumererror.NewLogs(errBusy, plog.NewLogs()) },
		"permanent": func(plog.Logs) error { return consumererror.NewPermanent(errBusy) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil)
			l := m.logger("myapp")
			attempts := 0
			s := &sink{refuse: func(l plog.Logs) error {
				if attempts++; attempts == 1 {
					return errors.Join(first(l), errBusy)
				}
				return nil
			}}
			cfg := fast()
			cfg.Batch.MaxRecords = 2
			r, telemetry := m.start(cfg, s)
			l.Info("a")
			l.Info("b")
			require.NoError(t, r.Shutdown(t.Context()))
			assert.Equal(t, []string{"a", "b"}, s.bodies())
			assert.Equal(t, int64(2), counter(t, telemetry, "accepted_log_records"))
			assert.Zero(t, counter(t, telemetry, "refused_log_records"))
		})
	}
}

func TestIsPermanent(t *testing.T) {
	permanent := consumererror.NewPermanent(errBusy)
	for err, want := range map[error]bool{
		errBusy: false, permanent: true, errors.Join(permanent, permanent): true, errors.Join(permanent, errBusy): false,
		consumererror.NewPermanent(errors.Join(errBusy, errBusy)): true, fmt.Errorf("x: %w", consumererror.NewPermanent(fmt.Errorf("%w: %w", errBusy, errBusy))): true,
		fmt.Errorf("x: %w", errors.Join(permanent)): true, fmt.Errorf("x: %w", errors.Join(errBusy, permanent)): false,
	} {
		assert.Equal(t, want, isPermanent(err), err)
	}
}
