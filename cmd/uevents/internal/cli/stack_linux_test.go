package cli

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
)

//go:noinline
func handleRequest(logger *slog.Logger) { logger.Warn("slow") }

// TestWatchStack: the line below a record is the function that logged.
func TestWatchStack(t *testing.T) {
	kerneltest.Require(t)
	h, err := sloghandler.New("stacked", nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	logger := slog.New(h)
	var stdout, stderr syncbuffer.Buffer
	e := newEnv()
	e.out, e.err = &stdout, &stderr
	code := make(chan int, 1)
	go func() { code <- run(t.Context(), e, []string{"watch", "stacked", "--stack", "-n", "1"}) }()
	testscale.Eventually(t, func() bool { return strings.Contains(stderr.String(), "attached 4 events") }, "%s", &stderr)
	handleRequest(logger)
	assert.Equal(t, exitOK, <-code)
	lines := strings.Split(stdout.String(), "\n")
	require.Greater(t, len(lines), 3, "%s", &stdout)
	assert.Regexp(t, `WARN .* slow$`, lines[0])
	assert.Regexp(t, `^    \S+/cli\.handleRequest \S+/stack_linux_test\.go:\d+$`, lines[1])
	assert.Regexp(t, `^    \S+/cli\.TestWatchStack \S+/stack_linux_test\.go:\d+$`, lines[2])
	assert.Regexp(t, `^    testing\.tRunner `, lines[3])
}
