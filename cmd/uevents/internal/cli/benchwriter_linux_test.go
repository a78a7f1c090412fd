package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// BenchmarkWriter measures the cost of a record for the program that writes it, while a tool is attached: with the wakeups of the
// tool, and in a guest that counts without its work, since the processor is the program's as long as it wants it.
func BenchmarkWriter(b *testing.B) {
	kerneltest.Require(b)
	if _, err := exec.LookPath("perf"); err != nil {
		b.Skip("only with perf: vm bench -with perf")
	}
	const event = "benchwriter"
	dir := b.TempDir()
	for _, tool := range []struct {
		name string
		args []string
	}{
		{"perf-record", []string{"perf", "record", "-a", "-e", "user_events:" + event, "-o", filepath.Join(dir, "perf.data")}},
		{"watch", []string{"uevents", "watch", event, "-o", "json", "--duration", "0"}},
		{"record", []string{"uevents", "record", event, "-o", filepath.Join(dir, "t.perf.data")}},
		{"flight", []string{"uevents", "flight", event, "-o", dir}},
		{"flight-trigger", []string{"uevents", "flight", event, "-o", dir, "--trigger", "duration_ns > 100000000"}},
	} {
		b.Run(tool.name, func(b *testing.B) {
			p, err := uevents.Open(nil)
			require.NoError(b, err)
			defer func() { require.NoError(b, p.Close()) }()
			ev, err := p.Register(tracepoint.MustParse(event+" s64 duration_ns; u64 seq; char[176] text"), nil)
			require.NoError(b, err)
			end := startTool(b, tool.args)
			require.NoError(b, until(ev.Enabled))
			time.Sleep(settle)
			writeAll(b, ev)
			end()
			require.False(b, ev.Enabled(), "the tool has detached")
		})
	}
}

// startTool starts a tool in a process of its own. end interrupts it and checks that it ended well.
func startTool(b *testing.B, args []string) (end func()) {
	cmd := exec.Command(args[0], args[1:]...)
	output, err := os.Create(filepath.Join(b.TempDir(), "output"))
	require.NoError(b, err)
	cmd.Stderr = output
	require.NoError(b, cmd.Start())
	return func() {
		require.NoError(b, cmd.Process.Signal(os.Interrupt))
		err := cmd.Wait()
		said, readErr := os.ReadFile(output.Name())
		require.NoError(b, readErr)
		require.NoError(b, output.Close())
		// perf ends by the signal that it got.
		if status := cmd.ProcessState.Sys().(interface{ Signaled() bool }); !status.Signaled() {
			require.NoError(b, err, "%s", said)
		}
	}
}

// writeAll writes b.N records and measures that. Between some of them it sleeps, so that the tool reads: no record is lost.
func writeAll(b *testing.B, ev *uevents.Event) {
	record := make([]byte, uevents.IndexSize+192)
	b.ResetTimer()
	for left := b.N; left > 0; left -= portion {
		b.StartTimer()
		for range min(left, portion) {
			_, _ = ev.WriteRecord(record) // the caller checks that the event is enabled
		}
		b.StopTimer()
		time.Sleep(20 * time.Millisecond)
	}
}
