package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// TestLimit: of a program that floods one event, its records are limited, and those of another event are all there. In shared memory no
// second has more; of the kernel's events, the tool notices it a moment later. The time in which records are missing is reported.
func TestLimit(t *testing.T) {
	memory := !testscale.Guest()
	if memory {
		t.Setenv(uevents.EnvTransport, uevents.TransportMemory.String())
	} else {
		kerneltest.Require(t)
	}
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
