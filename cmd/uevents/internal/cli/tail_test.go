package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/record"
)

// requestRecord is a record of a request at a second.
func requestRecord(second int64, id, message string, severity record.Severity) record.Record {
	ev := newRecord(message, severity)
	ev.Time = time.Unix(1e9+second, 0)
	if id != "" {
		ev.SetFields([]record.Field{{Name: "request_id", Value: record.StringValue(id)}})
	}
	return ev
}

// requests returns a feed of two requests, of which a fails.
func requests() *feed {
	f := newFeed("", "", "", "", "", "")
	f.events = []record.Record{
		requestRecord(0, "a", "too old", record.SeverityDebug),
		requestRecord(5, "a", "one", record.SeverityDebug),
		requestRecord(6, "b", "other", record.SeverityDebug),
		requestRecord(6, "", "none", record.SeverityDebug),
		requestRecord(12, "a", "two", record.SeverityError),
		requestRecord(13, "a", "three", record.SeverityDebug),
	}
	return f
}

func TestWatchWhen(t *testing.T) {
	code, out, errs := requests().run(t, "watch", "myapp", "--when", "level >= error", "--same", "request_id", "-f", "message")
	assert.Equal(t, 0, code, errs)
	assert.Equal(t, "one\ntwo\nthree\n", out)
	assert.Contains(t, errs, "\n6 matched = 3 shown + 1 dropped after --window + 1 without request_id + 1 still held; ")
	assert.NotContains(t, errs, "! no record")

	_, out, errs = requests().run(t, "watch", "myapp", "--when", "level >= error", "--same", "request_id", "-f", "message", "--window", "1m", "-n", "2")
	assert.Equal(t, "too old\none\n", out, errs)
	assert.Contains(t, errs, "\n6 matched = 2 shown + 1 without request_id + 1 still held + 2 not shown; ")

	_, out, errs = requests().run(t, "watch", "myapp", "--when", "levl >= 3", "--same", "request")
	assert.Empty(t, out)
	assert.Contains(t, errs, "! no record that was asked for levl has it: did you mean level?\n! no record has request, which those of a request share: --same NAME\n")
}

// TestReplayWhen: a recording of everything gives what --when would have recorded.
func TestReplayWhen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "all.jsonl")
	code, _, errs := requests().run(t, "record", "myapp", "-o", file)
	require.Equal(t, 0, code, errs)
	code, out, errs := newFeed().run(t, "replay", file, "--when", "level >= error", "--same", "request_id", "-f", "message", "--window", "8s")
	assert.Equal(t, 0, code, errs)
	assert.Equal(t, "one\ntwo\nthree\n", out)
	assert.Equal(t, "3 of 6 records selected: 1 dropped after --window + 1 without request_id + 1 still held\n", errs)

	_, out, errs = newFeed().run(t, "replay", file, "--when", "level >= error", "--same", "request_id", "--window", "1h", "-f", "message", "--grep", "too|two|three", "--where", "message != none")
	assert.Equal(t, "too old\ntwo\nthree\n", out)
	assert.Equal(t, "3 of 6 records selected: 1 still held + 1 without a match for --grep + 1 not selected for --when\n", errs)

	lines := filepath.Join(t.TempDir(), "some.jsonl")
	code, _, errs = requests().run(t, "record", "myapp", "-o", lines, "--when", "level >= error", "--same", "request_id")
	require.Equal(t, 0, code, errs)
	assert.Contains(t, errs, "\n6 matched = 3 recorded + 1 dropped after --window + 1 without request_id + 1 still held; ")
	content, err := os.ReadFile(lines)
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two", "three"}, messagesOf(string(content)))
}

// TestReplayWhenRestarted: of recordings from before and after a restart of the machine, whose monotonic clock begins again.
func TestReplayWhenRestarted(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, uptime := range []uint64{1e15, 1e9} {
		f := newFeed("", "", "")
		f.events = []record.Record{requestRecord(int64(i*60), "a", "one", record.SeverityDebug), requestRecord(int64(i*60), "b", "none", record.SeverityDebug), requestRecord(int64(i*60+1), "a", "two", record.SeverityError)}
		for n := range f.events {
			f.events[n].Monotonic = uptime + uint64(n)*5e8
		}
		paths = append(paths, filepath.Join(dir, fmt.Sprint(i, ".jsonl")))
		code, _, errs := f.run(t, "record", "myapp", "-o", paths[i])
		require.Equal(t, 0, code, errs)
	}
	args := append([]string{"replay", "--when", "level >= error", "--same", "request_id", "-f", "message"}, paths...)
	code, out, errs := newFeed().run(t, args...)
	assert.Equal(t, 0, code, errs)
	assert.Equal(t, "one\ntwo\none\ntwo\n", out, errs)
}

func messagesOf(lines string) (list []string) {
	for _, m := range regexp.MustCompile(`"message":"(\w+)"`).FindAllStringSubmatch(lines, -1) {
		list = append(list, m[1])
	}
	return list
}

// TestHoldIsFull: what did not fit is said.
func TestHoldIsFull(t *testing.T) {
	f := newFeed()
	const n = 3000
	for i := range n {
		f.events = append(f.events, requestRecord(0, fmt.Sprint(i), strings.Repeat("m", 1000), record.SeverityDebug))
	}
	f.stats.Events[0].Matched = n
	code, out, errs := f.run(t, "watch", "myapp", "--when", "level >= error", "--same", "request_id", "--hold", "1M")
	assert.Equal(t, 0, code, errs)
	assert.Empty(t, out)
	assert.Regexp(t, `\n3,000 matched = 0 shown \+ 2,\d\d\d dropped as --hold was full \+ \d+ still held; `, errs)
}

// TestHistWhen: hist reads all events, and counts those of the one that it was asked for.
func TestHistWhen(t *testing.T) {
	f := requests()
	for i := range f.events {
		if f.events[i].Severity == record.SeverityError {
			f.events[i].Name = "myapp_error"
		} else {
			f.events[i].Name = "myapp_debug"
		}
	}
	code, out, errs := f.run(t, "--tracefs", "testdata/tracefs", "hist", "myapp_debug", "--by", "request_id", "--when", "level >= error", "--same", "request_id", "--duration", "1ms")
	assert.Equal(t, 0, code, errs)
	assert.Regexp(t, `\na +2 +#+\n$`, out)
	assert.Equal(t, "counted here, not in the kernel: it does not evaluate --when\n", errs)
	require.NotNil(t, f.o)
	assert.Equal(t, []string{"*"}, f.o.Events)
}

func TestWhenUsage(t *testing.T) {
	for args, want := range map[string]string{
		"--same request_id":             "--same is for --when, which is missing",
		"--hold 1M":                     "--hold is for --when, which is missing",
		"--window 1s":                   "--window is for --when, which is missing",
		"--when ":                       "--when",
		"--when level>=":                "--when",
		"--when level>=error --same ":   "--same has an empty value",
		"--when a==1 --same a,b":        `--same: "a,b" is no name`,
		"--when a==1 --same a==1":       `--same: "a==1" is no name`,
		"--when a==1 --window 0s":       "--window must be positive",
		"--when a==1 --hold 1K":         "--hold must be 1M or more",
		"--when a==1 --hold many":       "--hold: ",
		"--when a==1 --window for_ever": `"--window" flag: it must be a time`,
	} {
		for _, verb := range []string{"watch x", "record x -o f.jsonl", "flight x", "hist x --by y", "replay nosuch"} {
			code, out, errs := newFeed().run(t, append(strings.Fields(verb), strings.Split(args, " ")...)...)
			assert.Equal(t, 2, code, "%s %s: %s", verb, args, errs)
			assert.Empty(t, out)
			assert.Contains(t, errs, want, verb)
		}
	}
}
