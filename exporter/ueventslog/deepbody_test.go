package ueventslog_test

import (
	"os"
	"os/exec"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

const deepBodyEnv = "UEVENTSLOG_TEST_DEEP_BODY"

// TestDeepBody: a body of many lists inside of each other does not make the stack grow with their number while a tool is
// attached: above its limit, the runtime ends the program, which no recover stops. A record has room for a few thousand.
func TestDeepBody(t *testing.T) {
	if names := os.Getenv(deepBodyEnv); names != "" {
		emitDeepBody(t, names)
		return
	}
	path, err := os.Executable()
	require.NoError(t, err)
	for _, names := range []string{"other_*", "app_*"} {
		cmd := exec.CommandContext(t.Context(), path, "-test.run=^TestDeepBody$")
		cmd.Env = append(os.Environ(), deepBodyEnv+"="+names)
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "attached to %s: %.200s", names, out)
	}
}

func emitDeepBody(t *testing.T, names string) {
	part := testscale.Count(1, 8)
	debug.SetMaxStack(32 << 20 / part) // the default limit needs more lists than a test should make
	r := &rig{kernel: ueventstest.New(t, nil)}
	own := r.newOwn(t)
	if names == "app_*" {
		r.attach(t, names)
	}
	body := attribute.IntValue(1)
	for range 100_000 / part {
		body = attribute.SliceValue(body)
	}
	m := record(log.SeverityInfo, "")
	m.SetBody(body)
	own.Logger("x").Emit(t.Context(), m)
}
