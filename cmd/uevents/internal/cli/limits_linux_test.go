package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// memoryOrKernel lets the programs of a test use shared memory, or in a guest the kernel.
func memoryOrKernel(t *testing.T) (memory bool) {
	t.Helper()
	if testscale.Guest() {
		kerneltest.Require(t)
		return false
	}
	t.Setenv(uevents.EnvTransport, uevents.TransportMemory.String())
	return true
}

// TestLimit: of a program that floods one event, its records are limited, and those of another event are all there. In shared memory no
// second has more; of the kernel's events, the tool notices it a moment later. The time in which records are missing is reported.
func TestLimit(t *testing.T) {
	memory := memoryOrKernel(t)
	const limit = 50
	for _, verb := range []string{"record", "watch"} {
		dir, name := t.TempDir(), fmt.Sprintf("limit_%s_%d", verb, os.Getpid())
		file := filepath.Join(dir, "flood.jsonl")
		program := exec.Command("floodprogram", name, filepath.Join(dir, "ready"), filepath.Join(dir, "go"))
		var failures bytes.Buffer
		program.Stdout, program.Stderr = &failures, os.Stderr
		require.NoError(t, program.Start())
		t.Cleanup(func() { _ = program.Process.Kill() })
		require.NoError(t, exists(filepath.Join(dir, "ready")))

		output := file
		if verb == "watch" {
			output = "json"
		}
		tool := exec.Command("uevents", verb, name, "--limit", fmt.Sprintf("%d/s", limit), "-o", output, "--duration", "0")
		var errs syncbuffer.Buffer
		tool.Stderr = &errs
		if verb == "watch" {
			out, err := os.Create(file)
			require.NoError(t, err)
			defer out.Close()
			tool.Stdout = out
		}
		began := time.Now()
		require.NoError(t, tool.Start())
		t.Cleanup(func() { _ = tool.Process.Kill() })
		testscale.Eventually(t, func() bool {
			return regexp.MustCompile(`(?m)^(recording|attached) \d+ event`).MatchString(errs.String())
		}, "%s", &errs)
		require.NoError(t, create(filepath.Join(dir, "go")))
		testscale.Eventually(t, func() bool { return strings.Count(errs.String(), "(--limit), not recorded: "+name+"_debug for ") >= 3 }, "%s", &errs)
		before := errs.String() // the program ends: the tool may notice it
		assert.NotContains(t, before, "attached "+name+"_debug")
		assert.NotContains(t, before, "detached")
		require.NoError(t, program.Process.Signal(os.Interrupt))
		require.NoError(t, program.Wait())
		require.NoError(t, tool.Process.Signal(os.Interrupt))
		require.NoError(t, tool.Wait(), "%s", &errs)
		elapsed := time.Since(began) //nolint:forbidigo // what is measured

		steps, failed := countBySecond(t, file)
		want, err := strconv.Atoi(strings.TrimSpace(failures.String()))
		require.NoError(t, err)
		assert.Equal(t, want, failed, "%s", &errs)
		if memory {
			for n := range maps.Values(steps) {
				assert.LessOrEqual(t, n, limit+1, "the second may end between the check and the record")
			}
		}
		total := regexp.MustCompile(`(?m)^.* matched = .*; ! --limit, in no count: ` + name + `_debug for (\d+\.\d) s$`).FindStringSubmatch(errs.String())
		require.NotEmpty(t, total, "%s", &errs)
		missing, err := strconv.ParseFloat(total[1], 64)
		require.NoError(t, err)
		assert.Positive(t, missing)
		assert.LessOrEqual(t, missing, elapsed.Seconds()+0.1)
		sumsOfLine(t, errs.String())
		t.Logf("%v\n%s", steps, &errs)
	}
}

// countBySecond counts debug records by second of CLOCK_MONOTONIC, and errors.
func countBySecond(t *testing.T, file string) (steps map[uint64]int, failed int) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	steps = map[uint64]int{}
	for line := range strings.Lines(string(content)) {
		var record struct {
			Event     string
			Monotonic uint64 `json:"monotonic_ns"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		if strings.HasSuffix(record.Event, "_debug") {
			steps[record.Monotonic/uint64(time.Second)]++
		} else {
			failed++
		}
	}
	return steps, failed
}

// sumsOfLine checks that the summary adds up.
func sumsOfLine(t *testing.T, said string) {
	t.Helper()
	s, err := summaryOf(said)
	require.NoError(t, err)
	sum := 0
	for _, n := range s.parts {
		sum += n
	}
	assert.Equal(t, s.matched, sum, s.line)
}

// TestExpires: a command that hangs, since it is stopped or nothing reads its output, is killed after its --duration. The events of the
// program are disabled then, and a file has what was recorded before.
func TestExpires(t *testing.T) {
	memoryOrKernel(t)
	for name, c := range map[string]struct {
		verb string
		stop bool
	}{
		"watch that is stopped": {"watch", true}, "watch whose output is not read": {"watch", false}, "record that is stopped": {"record", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, event := t.TempDir(), fmt.Sprintf("expires_%d", os.Getpid())
			ready, file := filepath.Join(dir, "ready"), filepath.Join(dir, "flood.jsonl")
			// A machine may be so slow that the command has ended in good order before it is stopped, before its output is full, or before it has
			// records.
			for d := time.Second; ; d *= 2 {
				_, _ = os.Remove(ready), os.Remove(file) // of the last attempt
				program := exec.Command("floodprogram", event, ready, ready, "until the tool detaches")
				program.Stderr = os.Stderr
				require.NoError(t, program.Start())
				t.Cleanup(func() { _ = program.Process.Kill() })
				require.NoError(t, exists(ready))
				args := []string{c.verb, event, "--duration", d.String()}
				if c.verb == "record" {
					args = append(args, "-o", file)
				}
				status := hang(t, args, c.stop, file)
				if !status.Signaled() || c.verb == "record" && !hasStep(file) {
					_ = program.Process.Kill()
					_ = program.Wait()
					continue
				}
				assert.Equal(t, syscall.SIGKILL, status.Signal())
				require.NoError(t, program.Wait(), "it ends when its events are disabled")
				break
			}
			if c.verb == "record" {
				out, err := exec.Command("uevents", "replay", file).Output()
				_, cut := errors.AsType[*exec.ExitError](err) // in the middle of a record
				assert.True(t, err == nil || cut, "%v", err)
				assert.Contains(t, string(out), " step ")
			}
		})
	}
}

// hasStep reports whether a file of JSON lines has a record of the program, whole.
func hasStep(file string) bool {
	data, err := os.ReadFile(file)
	return err == nil && bytes.Contains(data[:bytes.LastIndexByte(data, '\n')+1], []byte("step"))
}

// hang runs a command whose output is not read, stops it when it shows records if it is told to, and returns how it has ended.
func hang(t *testing.T, args []string, stop bool, file string) syscall.WaitStatus {
	t.Helper()
	unread, output, err := os.Pipe()
	require.NoError(t, err)
	defer unread.Close()
	var errs syncbuffer.Buffer
	cmd := exec.Command("expiring", args...)
	cmd.Stdout, cmd.Stderr = output, &errs
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	require.NoError(t, output.Close())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the status says how
		close(ended)
	}()
	if stop {
		testscale.Eventually(t, func() bool {
			select {
			case <-ended:
				return true
			default:
			}
			if args[0] == "record" {
				return hasStep(file)
			}
			return regexp.MustCompile(`(?m)^attached \d+ event`).MatchString(errs.String())
		}, "%s", &errs)
		_ = cmd.Process.Signal(syscall.SIGSTOP) // it may have ended
	}
	<-ended
	return cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// TestExpiryOfCommand: when the time of a command is over, the COMMAND that it started goes on, and nothing ends it but itself.
func TestExpiryOfCommand(t *testing.T) {
	memoryOrKernel(t)
	for d := time.Second; ; d *= 2 {
		cmd := exec.Command("uevents", "watch", fmt.Sprintf("expiry_%d", os.Getpid()), "--duration", d.String(), "--", "sh", "-c", "read line; exit 7")
		var errs syncbuffer.Buffer
		cmd.Stderr = &errs
		feed, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		testscale.Eventually(t, func() bool {
			return strings.Contains(errs.String(), "sh goes on") || strings.Contains(errs.String(), "was not started")
		}, "%s", &errs)
		if timers := fmt.Sprintf("/proc/%d/timers", cmd.Process.Pid); strings.Contains(errs.String(), "sh goes on") {
			testscale.Eventually(t, func() bool {
				list, err := os.ReadFile(timers)
				return err != nil || len(list) == 0 // some kernels do not list them
			}, "the timer goes on")
		}
		_, _ = feed.Write([]byte("end\n")) // it may not run
		_ = cmd.Wait()                     // its code says more
		if !strings.Contains(errs.String(), "was not started") {
			assert.Equal(t, 7, cmd.ProcessState.ExitCode(), "%s", &errs)
			break
		}
	}
}

// TestDefaultDuration: a command without a terminal has an end, unless the command line says otherwise.
func TestDefaultDuration(t *testing.T) {
	code, _, errs := newFeed("one").run(t, "watch", "myapp")
	assert.Equal(t, 0, code, errs)
	assert.Contains(t, errs, "ends after 10m0s")
	for _, d := range []string{"0", "1h"} {
		code, _, errs = newFeed("one").run(t, "watch", "myapp", "--duration", d)
		assert.Equal(t, 0, code, errs)
		assert.NotContains(t, errs, "ends after")
	}
}
