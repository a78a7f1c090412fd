package collectortest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/processcontext"
	"github.com/userevents/userevents-go/internal/testscale"
)

// What writers publish as their process context.
func init() {
	publish := func(list ...processcontext.Attribute) (*processcontext.Context, error) {
		return processcontext.Publish(append(list, processcontext.Attribute{Key: "team", Value: "red"}))
	}
	surroundings["context"] = func() error {
		_, err := publish(processcontext.Attribute{Key: "service.name", Value: "shop-go"})
		return err
	}
	surroundings["forged context"] = func() error {
		_, err := publish(
			processcontext.Attribute{Key: "process.pid", Value: int64(1)}, processcontext.Attribute{Key: "process.executable.name", Value: "bank"},
			processcontext.Attribute{Key: "process.linux.cgroup", Value: "/bank"}, processcontext.Attribute{Key: "host.name", Value: "bank"},
			processcontext.Attribute{Key: "k8s.node.name", Value: "bank"}, processcontext.Attribute{Key: "not UTF-8 \xff", Value: math.NaN()})
		return err
	}
	surroundings["endless context"] = func() error {
		c, err := publish(processcontext.Attribute{Key: "service.name", Value: "shop-endless"})
		if err != nil {
			return err
		}
		go func() {
			var err error // not that of the program
			for n := 0; err == nil; n++ {
				err = c.Update([]processcontext.Attribute{{Key: "service.name", Value: "shop-endless"}, {Key: "team", Value: strings.Repeat("red", n%1000)}})
			}
		}()
		return nil
	}
}

// publisher is a process of the program testdata/context.c.
type publisher struct {
	tb  testing.TB
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

// launchPublisher starts the program, and waits until it has published its context.
func launchPublisher(tb testing.TB, args ...string) *publisher {
	tb.Helper()
	p := &publisher{tb: tb, cmd: exec.Command(built(tb, "context"), args...)}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	require.NoError(tb, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(tb, err)
	p.in, p.out = in, bufio.NewScanner(out)
	require.NoError(tb, p.cmd.Start())
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	p.said("ready")
	return p
}

func (p *publisher) said(what string) {
	p.tb.Helper()
	require.True(p.tb, p.out.Scan())
	require.Equal(p.tb, what, p.out.Text())
}

// write makes the program write a record.
func (p *publisher) write() {
	p.tb.Helper()
	_, err := fmt.Fprintln(p.in)
	require.NoError(p.tb, err)
	p.said("done")
}

func (p *publisher) context() ([]processcontext.Attribute, error) {
	return processcontext.Read(fmt.Sprintf("/proc/%d", p.cmd.Process.Pid))
}

// contextOf returns the context of the program with a team.
func contextOf(team string) []processcontext.Attribute {
	return []processcontext.Attribute{{Key: "service.name", Value: "shop-c"}, {Key: "team", Value: team}, {Key: "length", Value: int64(len(team))}}
}

// TestContextOfC: a context that a program publishes without this project is read, whatever names it has in /proc, and whole also while it
// changes.
func TestContextOfC(t *testing.T) {
	if !testscale.Guest() {
		testscale.HostOnly(t) // a guest that plays a host cannot build the program
	}
	got, err := launchPublisher(t, "memfd").context()
	require.NoError(t, err)
	assert.Equal(t, contextOf("blue"), got)

	got, err = launchPublisher(t, "anonymous").context()
	if err != nil { // CONFIG_ANON_VMA_NAME is missing
		require.ErrorIs(t, err, fs.ErrNotExist)
	} else {
		assert.Equal(t, contextOf("blue"), got)
	}

	p := launchPublisher(t, "updates")
	whole := map[string]int{}
	testscale.Eventually(t, func() bool {
		got, err := p.context()
		if err == nil {
			require.Len(t, got, 3)
			team := got[1].Value.(string)
			require.Equal(t, contextOf(team), got)
			whole[team]++
		}
		return len(whole) == 2 && whole["blue"] >= 10
	}, "the contexts are not read")
	assert.Len(t, whole, 2)
}

// resources waits until records of processes have arrived, and returns the resource of each.
func (c *collector) resources(pids ...int) map[int]map[string]any {
	c.until("records of all processes have arrived", func() bool {
		processes := c.received().Processes
		return !slices.ContainsFunc(pids, func(pid int) bool { return processes[strconv.Itoa(pid)] == 0 })
	})
	all := map[int]map[string]any{}
	for text := range c.received().Resources {
		var r map[string]any
		require.NoError(c.tb, json.Unmarshal([]byte(text), &r))
		pid := int(r["process.pid"].(float64))
		require.NotContains(c.tb, all, pid, "a process has one resource")
		all[pid] = r
	}
	return all
}

// TestContexts: what programs publish as their process context is the resource of their records, from the first one on. One program is in
// C, from the OTEP's text.
func TestContexts(t *testing.T) {
	dir := kerneltest.RequireTool(t, "taskset")
	c := start(t, settings{receivers: everything, sink: "    detailed: true"})
	inC := launchPublisher(t, "memfd", "collected_context")
	inGo := launchAnyhow(t, "slog", math.MaxInt32, 20, nil, envSurroundings+"=context") // it runs until its records are read
	c.attached(dir)
	for range 100 {
		inC.write()
	}
	inGo.start()
	all := c.resources(inC.cmd.Process.Pid, inGo.cmd.Process.Pid)
	require.Len(t, all, 2)
	for pid, want := range map[int]map[string]any{
		inC.cmd.Process.Pid:  {"service.name": "shop-c", "team": "blue", "length": 4.0, "process.executable.name": "context"},
		inGo.cmd.Process.Pid: {"service.name": "shop-go", "team": "red", "process.executable.name": "collectortest.test"},
	} {
		for key, value := range want {
			assert.Equal(t, value, all[pid][key], key)
		}
		assert.NotEmpty(t, all[pid]["process.linux.cgroup"])
	}
	c.end()
}
