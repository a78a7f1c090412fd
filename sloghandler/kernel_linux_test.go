package sloghandler_test

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
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

var update = flag.Bool("update", false, "print the golden file of this kernel instead of comparing with it")

// odd is a message of what tools print in different ways.
const odd = "two\nlines\tand \x1b[31mred\x1b[0m, größer"

// TestPrinted: how ftrace, perf and trace-cmd print a message with control characters and letters beyond ASCII. The golden file is
// that of the guest's kernel.
func TestPrinted(t *testing.T) {
	fs := kerneltest.RequireTool(t, "perf")
	h, err := sloghandler.New("printed", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close()) }()

	require.NoError(t, os.WriteFile(fs.Path("trace"), nil, 0))
	require.NoError(t, fs.Event("printed_info").Enable())
	slog.New(h).Info(odd, "k", odd)
	require.NoError(t, fs.Event("printed_info").Disable())
	text, dumped := kerneltest.TraceText(t, fs)
	got := "ftrace:\n" + lines(text)
	if dumped { // before 6.4, of every record
		got = "ftrace:\n  a hex dump of the record\n"
	}

	dir := t.TempDir()
	for _, tool := range []struct {
		name         string
		record, show []string
	}{
		{"perf", []string{"record", "-q", "-a", "-e", "user_events:printed_info", "-o", dir + "/perf", "--"}, []string{"script", "-i", dir + "/perf"}},
		{"trace-cmd", []string{"record", "-q", "-e", "user_events:printed_info", "-o", dir + "/cmd"}, []string{"report", "-i", dir + "/cmd"}},
	} {
		kerneltest.WhileRecording(t, func() { slog.New(h).Info(odd, "k", odd) }, tool.name, tool.record...)
		out, err := exec.Command(tool.name, tool.show...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		got += tool.name + ":\n" + lines(string(out))
	}

	golden := filepath.Join("testdata", "printed-"+strings.TrimSuffix(testscale.Kernel(), "-uml")+".golden")
	if *update {
		t.Logf("%s is:\n%s", golden, got)
		return
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err, "make it with -update")
	assert.Equal(t, string(want), got)
}

// lines returns the first record of a tool's output, without what differs between runs: process, CPU and times.
func lines(out string) string {
	_, rest, found := strings.Cut(out, "printed_info: ")
	if !found {
		return "  nothing\n"
	}
	record := regexp.MustCompile(`(?s)^(.*?)(\n\S*-\d+ |\n *\S+ +\d+ \[|\n *\S+-\d+ +\[|\z)`).FindStringSubmatch(rest)[1]
	record = regexp.MustCompile(`time_unix_nano=(0x[0-9a-f]+ \(-?\d+\)|\d+)`).ReplaceAllString(record, "time_unix_nano=TIME")
	var b strings.Builder
	for line := range strings.Lines(record) {
		b.WriteString("  " + strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// TestManyDuplicates: the cost of a log call does not grow with the square of its attributes.
func TestManyDuplicates(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{UniqueKeys: true})
	testscale.Linear(t, 500, func(n int) func() {
		tr.Records()
		attrs := make([]slog.Attr, n)
		for i := range attrs {
			attrs[i] = slog.Int(strconv.Itoa(i), i)
		}
		return func() { slog.New(h).LogAttrs(t.Context(), slog.LevelInfo, "m", attrs...) }
	})
	assert.NotEmpty(t, only(t, tr).attributes)
}
