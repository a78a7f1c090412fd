package collectortest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys/systest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// program is a writer in a process of its own.
type program struct {
	tb        testing.TB
	cmd       *exec.Cmd
	out, said bytes.Buffer
	begin     string    // file that makes it write
	input     io.Closer // the same for a program that has no files
}

// launch starts a program, and waits until its events are registered. It creates the file ready, and begins when the file begin
// exists. command is what runs it, if anything.
func launch(tb testing.TB, command []string, args func(ready, begin string) []string, env ...string) *program {
	dir := tb.TempDir()
	ready := filepath.Join(dir, "ready")
	p := &program{tb: tb, begin: filepath.Join(dir, "begin")}
	all := append(command, args(ready, p.begin)...)
	p.cmd = exec.Command(all[0], all[1:]...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.said
	require.NoError(tb, p.cmd.Start())
	tb.Cleanup(p.kill)
	testscale.Eventually(tb, func() bool {
		_, err := os.Stat(ready)
		return err == nil
	}, "the program is not ready: %s", args(ready, p.begin))
	return p
}

// on returns a command that runs another one on one CPU.
func on(cpu int) []string {
	return []string{"taskset", "--cpu-list", strconv.Itoa(cpu % runtime.NumCPU())}
}

// launchWriter starts a writer of this test binary on one CPU.
func launchWriter(tb testing.TB, name string, cpu, records, perSecond int, command ...string) *program {
	return launchAnyhow(tb, name, records, perSecond, append(on(cpu), command...))
}

func launchAnyhow(tb testing.TB, name string, records, perSecond int, command []string, env ...string) *program {
	path, err := filepath.Abs(eventHeaders)
	require.NoError(tb, err)
	return launch(tb, command, func(ready, begin string) []string {
		return []string{os.Args[0], ready, begin, strconv.Itoa(records), strconv.Itoa(perSecond), path}
	}, append(env, envWriter+"="+name)...)
}

// launchC starts the program in C.
func launchC(tb testing.TB, cpu, more int) *program {
	program := built(tb, "cprogram")
	return launch(tb, on(cpu), func(ready, begin string) []string {
		return []string{program, "collected_c", ready, begin, begin, strconv.Itoa(more)}
	})
}

// start makes the program write.
func (p *program) start() {
	if p.input != nil {
		require.NoError(p.tb, p.input.Close())
		return
	}
	require.NoError(p.tb, os.WriteFile(p.begin, nil, 0o600))
}

// kill ends the program if it runs.
func (p *program) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// end waits until the program has ended, and returns the numbers of records that it wrote, by tracepoint.
func (p *program) end() (written map[string]int) {
	require.NoError(p.tb, p.cmd.Wait(), &p.said)
	if p.out.Len() > 0 {
		require.NoError(p.tb, json.Unmarshal(p.out.Bytes(), &written), p.out.String())
	}
	return written
}

// attached waits until the Collector is attached to all events of the writers on all CPUs.
func (c *collector) attached(dir *tracefs.Dir) {
	c.until("attached to all events on all CPUs", func() (done bool) {
		status, err := dir.Status()
		require.NoError(c.tb, err)
		events := 0
		for _, e := range status.Events {
			if strings.HasPrefix(e.Name, "collected_") && !strings.HasSuffix(e.Name, "_span_start") {
				events++
			}
		}
		own := c.scrape()
		attached, descriptors := own.sum(attachedEvents), c.descriptors()
		if done = events > 0 && attached == events && descriptors >= (events+1)*runtime.NumCPU(); !done {
			c.tb.Logf("%d of %d events are attached, with %d descriptors", attached, events, descriptors)
			time.Sleep(200 * time.Millisecond) //nolint:forbidigo // the poll interval
		}
		return done
	})
}

// descriptors returns the number of perf events that the Collector has open: one for each event and CPU, and one for each CPU that owns
// the ring.
func (c *collector) descriptors() (n int) {
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.cmd.Process.Pid))
	require.NoError(c.tb, err)
	for _, link := range links {
		if target, _ := os.Readlink(link); strings.Contains(target, "[perf_event]") {
			n++
		}
	}
	return n
}

// rings returns the sizes of the Collector's rings, in KiB, with their header pages.
func (c *collector) rings() (sizes []int) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.cmd.Process.Pid))
	require.NoError(c.tb, err)
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[perf_event]") {
			var low, high int
			_, err := fmt.Sscanf(line, "%x-%x", &low, &high)
			require.NoError(c.tb, err)
			sizes = append(sizes, (high-low)>>10)
		}
	}
	return sizes
}

// processorTime returns the processor time that the Collector has taken, the kernel's work for it included.
func (c *collector) processorTime() time.Duration {
	t, err := systest.ProcessTime(c.cmd.Process.Pid)
	require.NoError(c.tb, err)
	return t
}

// memory returns the resident memory of the Collector, and the most that it ever was, in bytes.
func (c *collector) memory() (now, most float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	require.NoError(c.tb, err)
	value := func(key string) float64 {
		_, rest, ok := strings.Cut(string(text), "\n"+key+":")
		require.True(c.tb, ok, key)
		number, _, _ := strings.Cut(strings.TrimSpace(rest), " kB\n")
		kib, err := strconv.ParseFloat(number, 64)
		require.NoError(c.tb, err)
		return kib * 1024
	}
	return value("VmRSS"), value("VmHWM")
}
