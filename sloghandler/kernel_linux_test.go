package sloghandler_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/sloghandler"
)

func uniqueName() string { return fmt.Sprintf("slogtest_%d", time.Now().UnixNano()) }

// onKernel returns a handler on the machine's kernel, and the name that it has there.
func onKernel(t *testing.T) (*sloghandler.Handler, string) {
	name := uniqueName()
	h, err := sloghandler.New(name, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h, name
}

// TestFtrace: the kernel's own text shows message and attributes.
func TestFtrace(t *testing.T) {
	fs := kerneltest.Require(t)
	h, name := onKernel(t)
	log := slog.New(h).With("service", "shop")
	log.Info("too early")
	require.NoError(t, os.WriteFile(fs.Path("trace"), nil, 0)) // empties it
	require.NoError(t, fs.Event(name+"_info").Enable())
	require.True(t, h.Enabled(t.Context(), slog.LevelInfo))
	assert.False(t, h.Enabled(t.Context(), slog.LevelError))
	log.Info("request served", "method", "GET", slog.Group("user", "id", 7))
	log.Error("disabled level")
	require.NoError(t, fs.Event(name+"_info").Disable())
	assert.False(t, h.Enabled(t.Context(), slog.LevelInfo))
	log.Info("too late")

	text, dumped := kerneltest.TraceText(t, fs)
	if dumped {
		assert.Contains(t, text, "request served\x00")
		assert.Contains(t, text, `{"service":"shop","method":"GET","user":{"id":7}}`+"\x00")
	} else {
		assert.Regexp(t, name+`_info: .*level=(0x0 \(0\)|0) .*message=request served .*attributes=\{"service":"shop","method":"GET","user":\{"id":7\}\}`, text)
	}
	for _, no := range []string{"too early", "disabled level", "too late"} {
		assert.NotContains(t, text, no)
	}
}

// record logs while a tool records.
func record(t *testing.T, h *sloghandler.Handler, tool string, args ...string) {
	t.Helper()
	kerneltest.WhileRecording(t, func() {
		assert.True(t, h.Enabled(t.Context(), slog.LevelWarn))
		slog.New(h).Warn("disk almost full", "free", "3%", "n", 1)
	}, tool, args...)
	assert.False(t, h.Enabled(t.Context(), slog.LevelWarn), "detached")
}

// The text that other programs make of a record.
const witnessed = `%s_warn: +(time_unix_nano=\d+ )?.*level=(0x4 \(4\)|4) .*message=disk almost full .*attributes=\{"free":"3%%","n":\d+\}`

func TestPerf(t *testing.T) {
	kerneltest.RequireTool(t, "perf")
	h, name := onKernel(t)
	data := filepath.Join(t.TempDir(), "perf.data")
	record(t, h, "perf", "record", "-a", "-o", data, "-e", "user_events:"+name+"_warn", "--")
	out, err := exec.Command("perf", "script", "-i", data).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, fmt.Sprintf(witnessed, name), string(out))
}

func TestTraceCmd(t *testing.T) {
	kerneltest.RequireTool(t, "trace-cmd")
	h, name := onKernel(t)
	data := filepath.Join(t.TempDir(), "trace.dat")
	record(t, h, "trace-cmd", "record", "-o", data, "-e", "user_events:"+name+"_warn")
	out, err := exec.Command("trace-cmd", "report", "-i", data).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, fmt.Sprintf(witnessed, name), string(out))
}
