package sloghandler_test

import (
	"flag"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
)

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
