package sloghandler_test

import (
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
)

// TestCompleteInTools: ftrace, perf and trace-cmd, attached to the event of a declaration and to that of its level, each show
// all records of both. The record is logged in each form once, while the tool records.
func TestCompleteInTools(t *testing.T) {
	fs := kerneltest.RequireTool(t, "perf")
	kerneltest.RequireTool(t, "trace-cmd")
	h, own := declaredOnKernel(t)
	level := strings.TrimSuffix(own, "_http_request") + "_info"
	logAll := func() {
		for _, log := range forms {
			log(h, slog.LevelInfo, sampleRequest)
		}
		slog.New(h).Info("another message")
	}
	check := func(t *testing.T, text string) {
		t.Helper()
		owns, copies, others := 0, 0, 0
		for line := range strings.Lines(text) {
			switch {
			case strings.Contains(line, own+":"):
				assert.Regexp(t, `method=GET route=/users/\{id\} status=(0x194 \(404\)|404) latency_ns=(0x5dc \(1500\)|1500) `, line)
				owns++
			case strings.Contains(line, level+":") && strings.Contains(line, "message=http request"):
				assert.Regexp(t, `duplicate=(\(1\)|1) .*"method":"GET".*"route":"/users/\{id\}".*"status":404`, line)
				copies++
			case strings.Contains(line, level+":") && strings.Contains(line, "message=another message"):
				assert.Regexp(t, `duplicate=(\(0\)|0) `, line)
				others++
			}
		}
		assert.Equal(t, []int{len(forms), len(forms), 1}, []int{owns, copies, others}, text)
	}

	require.NoError(t, os.WriteFile(fs.Path("trace"), nil, 0))
	for _, event := range []string{own, level} {
		require.NoError(t, fs.Event(event).Enable())
	}
	logAll()
	for _, event := range []string{own, level} {
		require.NoError(t, fs.Event(event).Disable())
	}
	if text, dumped := kerneltest.TraceText(t, fs); !dumped { // before 6.4, ftrace prints hex dumps
		check(t, text)
	}

	const events = "user_events:"
	data := t.TempDir() + "/data"
	for tool, args := range map[string]struct{ record, show []string }{
		"perf":      {[]string{"record", "-q", "-a", "-o", data, "-e", events + own, "-e", events + level, "--"}, []string{"script", "-i", data}},
		"trace-cmd": {[]string{"record", "-q", "-o", data, "-e", events + own, "-e", events + level}, []string{"report", "-i", data}},
	} {
		t.Run(tool, func(t *testing.T) {
			kerneltest.WhileRecording(t, logAll, tool, args.record...)
			out, err := exec.Command(tool, args.show...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			check(t, string(out))
		})
	}
}
