package perfdata

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/reader"
)

// perf returns what a command of perf says about a file.
func perf(t *testing.T, file, command string, args ...string) (out string, errs string) {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.Command("perf", append([]string{command, "-i", file}, args...)...)
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	require.NoError(t, err, "%s%s", b, &stderr)
	return string(b), stderr.String()
}

// TestPerf: perf reads a file of a program that was killed, and one that was closed: events that appear late, of which two have one
// name, or a number that the kernel has reused, and so many that their formats are longer than a record.
func TestPerf(t *testing.T) {
	kerneltest.RequireTool(t, "perf")
	var events []*reader.Event
	var want strings.Builder
	add := func(name string, number int, field string) {
		i := len(events)
		events = append(events, eventAt(uint64(1000*i), name, rawOf(number, uint32(i), "hello")))
		fmt.Fprintf(&want, "user_events:%s: %s=%d msg=hello\n", name, field, i)
	}
	const first = 1500
	for i := range 200 {
		add(fmt.Sprint("e", i), first+i, "status")
		add("e0", first, "status")
	}
	add("e0", first+1000, "other") // it was registered again
	add("f", first, "reused")
	add("e0", first, "status")
	options := func() Options {
		asked := 0
		return Options{Hostname: "h", Command: []string{"uevents"}, Format: func(_, name string) (string, error) {
			number := first + asked
			asked++
			switch {
			case name == "f":
				return formatOf(name, first, "reused"), nil
			case name == "e0" && asked > 1:
				return formatOf(name, first+1000, "other"), nil
			}
			return formatOf(name, number, "status"), nil
		}}
	}
	script := func(file string) (out, errs string) {
		out, errs = perf(t, file, "script", "-F", "event,trace")
		var lines strings.Builder
		for line := range strings.Lines(out) {
			lines.WriteString(strings.TrimLeft(line, " "))
		}
		return lines.String(), errs
	}

	closed := create(t)
	w, err := NewWriter(closed, options())
	require.NoError(t, err)
	for i, ev := range events {
		require.NoError(t, w.Write(ev))
		if i%50 == 0 {
			require.NoError(t, w.Flush())
		}
	}
	require.NoError(t, w.Close())
	out, _ := script(closed.Name())
	assert.Equal(t, want.String(), out)
	out, _ = perf(t, closed.Name(), "evlist")
	assert.Equal(t, 202, strings.Count(out, "user_events:"))

	killed := filepath.Join(t.TempDir(), "killed")
	content := stream(t, options(), events...)
	require.NoError(t, os.WriteFile(killed, content, 0o600))
	out, _ = script(killed)
	assert.Equal(t, want.String(), out)
	out, _ = perf(t, killed, "report", "--stdio", "--header")
	assert.Equal(t, 202, strings.Count(out, " of event 'user_events:"))
	assert.Regexp(t, `(?m)^# Samples: 202 +of event 'user_events:e0'$`, out)
	assert.Contains(t, out, "# hostname : h\n")
	assert.Contains(t, out, "(monotonic)")

	require.NoError(t, os.WriteFile(killed, content[:len(content)-1], 0o600))
	out, errs := script(killed)
	assert.Equal(t, strings.Join(strings.SplitAfter(want.String(), "\n")[:len(events)-1], ""), out)
	assert.Contains(t, errs, "unexpected end of event stream")
}

// TestPerfLost: perf reads a file with losses of events that have no records, one of which it has no fields of.
func TestPerfLost(t *testing.T) {
	kerneltest.RequireTool(t, "perf")
	for _, finished := range []bool{true, false} {
		file := create(t)
		w, err := NewWriter(file, Options{Format: func(_, name string) (string, error) {
			if name == "memory" {
				return "", os.ErrNotExist
			}
			return formatOf(name, 1500+len(name), "status"), nil
		}})
		require.NoError(t, err)
		require.NoError(t, w.Write(eventAt(0, "a", rawOf(1501, 1, "hello"))))
		for _, name := range []string{"user_events:burst", "user_events:memory", ""} {
			require.NoError(t, w.Lost(name, 7, wall.Add(1)))
		}
		if finished {
			require.NoError(t, w.Close())
		}
		require.NoError(t, w.Flush())
		out, _ := perf(t, file.Name(), "script", "-F", "event,trace")
		assert.Equal(t, "user_events:a: status=1 msg=hello\n", strings.TrimLeft(out, " "))
		if !finished { // whose statistics perf ends at the first record that it does not count
			continue
		}
		out, _ = perf(t, file.Name(), "report", "--stdio", "--stats")
		assert.Regexp(t, `LOST events: +3\b`, out)
	}
}

// TestUnordered: records that come long after newer ones are sorted, by perf and by Reader, and have the name of their program.
func TestUnordered(t *testing.T) {
	kerneltest.RequireTool(t, "perf")
	file := create(t)
	w, err := NewWriter(file, Options{Unordered: true, Format: new(formats).format})
	require.NoError(t, err)
	const n, first = 3 * roundSize, 20_000
	for i := range n {
		at := (i + first) % n // the newest third comes first
		ev := eventAt(uint64(1000*at), "a", rawOf(1500, uint32(at), "hello"))
		ev.TID += int32(at % 2)
		require.NoError(t, w.Write(ev))
	}
	require.NoError(t, w.Close())
	out, errs := perf(t, file.Name(), "script", "-F", "comm,event,trace")
	assert.NotContains(t, errs, "Timestamp")
	i := 0
	for line := range strings.Lines(out) {
		require.Equal(t, fmt.Sprintf("my app user_events:a: status=%d msg=hello", i), strings.Join(strings.Fields(line), " "))
		i++
	}
	assert.Equal(t, n, i)
	r := openFile(t, file, nil)
	var ev reader.Event
	for i := range n {
		require.NoError(t, r.Next(&ev))
		require.Equal(t, wall.Add(time.Duration(1000*i)), ev.Time.UTC())
		require.Equal(t, "my app", ev.Process.Comm)
	}
	require.ErrorIs(t, r.Next(&ev), io.EOF)
}
