package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// BenchmarkWriter measures the cost of a record for the program that writes it, while a tool is attached: with the wakeups of the
// tool, and in a guest that counts without its work, since the processor is the program's as long as it wants it.
func BenchmarkWriter(b *testing.B) {
	if kerneltest.RequireTool(b, "perf"); runtime.NumCPU() > 1 {
		b.Skip("not on this kernel: with several processors the tool reads meanwhile, and nothing counts instructions")
	}
	const event = "benchwriter"
	dir := b.TempDir()
	for _, tool := range []struct {
		name string
		args []string
	}{
		{"perf-record", []string{"perf", "record", "-a", "-e", "user_events:" + event, "-o", filepath.Join(dir, "perf.data")}},
		{"watch", []string{"uevents", "watch", event, "-o", "json", "--duration", "0"}},
		{"watch-when", []string{"uevents", "watch", event, "-o", "json", "--duration", "0", "--when", "duration_ns < 1000000000", "--same", "seq"}},
		{"record", []string{"uevents", "record", event, "-o", filepath.Join(dir, "t.jsonl")}},
		{"flight", []string{"uevents", "flight", event, "-o", dir}},
		{"flight-trigger", []string{"uevents", "flight", event, "-o", dir, "--trigger", "duration_ns > 100000000"}},
	} {
		b.Run(tool.name, func(b *testing.B) {
			p, err := uevents.Open(nil)
			require.NoError(b, err)
			defer func() { require.NoError(b, p.Close()) }()
			ev, err := p.Register(tracepoint.MustParse(event+" s64 duration_ns; u64 seq; char[176] text"), nil)
			require.NoError(b, err)
			end := startTool(b, ev, tool.args)
			writeAll(b, ev)
			_, said := end()
			if what := map[string]string{"watch": "shown", "watch-when": "shown", "record": "recorded"}[tool.name]; what != "" {
				s, err := summaryOf(said)
				require.NoError(b, err)
				require.Equal(b, b.N, s.matched)
				require.Equal(b, map[string]int{what: b.N}, s.parts, "all records were read: %s", said)
			}
			require.False(b, ev.Enabled(), "the tool has detached")
		})
	}
}

// startTool starts a tool in a process of its own, with its output to /dev/null, and waits until it is attached. end interrupts
// it, and returns the process and what it said on standard error.
func startTool(b *testing.B, ev *uevents.Event, args []string) (end func() (*os.ProcessState, string)) {
	cmd := exec.Command(args[0], args[1:]...)
	var said syncbuffer.Buffer
	cmd.Stderr = &said
	if args[0] == "perf" { // it answers commands once it is attached
		commands, command, err := os.Pipe()
		require.NoError(b, err)
		answer, answers, err := os.Pipe()
		require.NoError(b, err)
		defer func() { require.NoError(b, errors.Join(command.Close(), answer.Close())) }()
		cmd.Args, cmd.ExtraFiles = append(cmd.Args, "--control", "fd:3,4"), []*os.File{commands, answers}
		require.NoError(b, cmd.Start())
		require.NoError(b, errors.Join(commands.Close(), answers.Close()))
		_, err = command.WriteString("ping\n")
		require.NoError(b, err)
		_, err = answer.Read(make([]byte, len("ack\n")))
		require.NoError(b, err)
	} else {
		require.NoError(b, cmd.Start())
		testscale.Eventually(b, func() bool { return strings.Contains(said.String(), "\n") }, "it says when it is attached")
	}
	require.True(b, ev.Enabled())
	return func() (*os.ProcessState, string) {
		require.NoError(b, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait() // perf ends by the signal that it got
		return cmd.ProcessState, said.String()
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
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // pacing of the load, which is not measured
	}
}
