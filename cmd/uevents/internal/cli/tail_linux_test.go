package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// requestFails reports whether a request of requestProgram fails.
func requestFails(n int) bool { return n%1000 == 999 }

// requestProgram, given a name, a number and the arguments of signaled, serves so many requests, 5,000 a second and a hundred at a time: each
// has three debug records. Of a thousand one fails, unless a fifth argument says that another program tells.
func requestProgram(args []string) error {
	h, err := sloghandler.New(args[0], nil)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if err := signaled(args[2], args[3]); err != nil {
		return err
	}
	l := slog.New(h)
	const batch = 100
	for first := 0; first < n; first += batch {
		begin := time.Now()
		for step := range 3 {
			for i := first; i < min(n, first+batch); i++ {
				l.Debug("step", "request_id", fmt.Sprint("r", i), "step", step)
			}
		}
		for i := first; i < min(n, first+batch); i++ {
			if len(args) == 4 && requestFails(i) {
				l.Error("failed", "request_id", fmt.Sprint("r", i), "step", 3)
			} else {
				l.Info("served", "request_id", fmt.Sprint("r", i), "step", 3)
			}
		}
		time.Sleep(time.Until(begin.Add(20 * time.Millisecond)))
	}
	return h.Close()
}

// TestWhen: of 5,000 requests a second, of which one in 1,000 fails, the debug records of those that fail are shown, in two programs, and
// none of others.
func TestWhen(t *testing.T) {
	if testscale.Guest() {
		kerneltest.Require(t)
	} else {
		t.Setenv(uevents.EnvTransport, uevents.TransportMemory.String())
	}
	const n = 20_000
	dir := t.TempDir()
	name := fmt.Sprintf("when_%d", os.Getpid())
	file := filepath.Join(dir, "records.jsonl")
	watch := exec.Command("uevents", "record", name+"_a", name+"_b", "--when", "level >= error", "--same", "request_id", "-o", file, "--window", "10m", "--hold", "256M", "--buffer", "64M") // room for all: the machine may be slow
	var errs syncbuffer.Buffer
	watch.Stderr = &errs
	var programs []*exec.Cmd
	for _, part := range []string{"a", "b"} {
		args := []string{name + "_" + part, strconv.Itoa(n), filepath.Join(dir, "ready"+part), filepath.Join(dir, "go")}
		if part == "b" {
			args = append(args, "behind")
		}
		program := exec.Command("requestprogram", args...)
		program.Stderr = os.Stderr
		require.NoError(t, program.Start())
		t.Cleanup(func() { _ = program.Process.Kill() })
		programs = append(programs, program)
		require.NoError(t, exists(filepath.Join(dir, "ready"+part)))
	}
	require.NoError(t, watch.Start())
	t.Cleanup(func() { _ = watch.Process.Kill() })
	testscale.Eventually(t, func() bool { return strings.Contains(errs.String(), "recording 8 events") }, "%s", &errs)
	require.NoError(t, create(filepath.Join(dir, "go")))
	for _, program := range programs {
		require.NoError(t, program.Wait())
	}
	require.NoError(t, watch.Process.Signal(os.Interrupt))
	require.NoError(t, watch.Wait(), "%s", &errs)
	assert.NotContains(t, errs.String(), " lost")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	got := map[string]int{}
	for line := range strings.Lines(string(content)) {
		var record struct {
			Event  string
			Fields struct {
				ID   string `json:"request_id"`
				Step int
			}
		}
		require.NoError(t, errors.Join(json.Unmarshal([]byte(line), &record)))
		got[fmt.Sprint(record.Event[len(name)+1:][:1], " ", record.Fields.ID, " ", record.Fields.Step)]++
	}
	want := map[string]int{}
	for i := range n {
		for step := range 4 {
			if requestFails(i) {
				want[fmt.Sprint("a r", i, " ", step)]++
				want[fmt.Sprint("b r", i, " ", step)]++
			}
		}
	}
	assert.Equal(t, want, got, "%s", &errs)
	assert.True(t, slices.Contains(strings.Fields(errs.String()), "matched"), &errs)
	t.Log(&errs)
}
