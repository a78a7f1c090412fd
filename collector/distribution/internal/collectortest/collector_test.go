package collectortest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/collector/distribution/internal/collectortest/sink"
	"github.com/userevents/userevents-go/internal/testscale"
)

// distribution is the directory of the manifests, build what .ci/collector writes.
var (
	distribution = filepath.Join("..", "..")
	build        = filepath.Join(distribution, ".build")
)

// buildOnce builds the Collector and the programs in C with the modules of this checkout. A guest has what was built on the host.
var buildOnce = sync.OnceValue(func() error {
	if out, err := exec.Command(filepath.Join(distribution, "..", "..", ".ci", "collector")).CombinedOutput(); err != nil {
		return fmt.Errorf(".ci/collector: %w\n%s", err, out)
	}
	return nil
})

// built returns the absolute path of a program of .ci/collector.
func built(tb testing.TB, name string) string {
	if !testscale.Guest() {
		testscale.NeedProgram(tb, "cc")
		require.NoError(tb, buildOnce())
	}
	path, err := filepath.Abs(filepath.Join(build, name))
	require.NoError(tb, err)
	require.FileExists(tb, path, "make collector builds it")
	return path
}

// componentStatus makes health_check fail when components do.
const componentStatus = "--feature-gates=+extension.healthcheck.useComponentStatus"

// collector is a running Collector.
type collector struct {
	tb     testing.TB
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended
	err    error         // how
	log    string        // file of what it says
	report string        // file of the sink's report
	stall  string        // file that stalls the sink
	host   string        // address of its own metrics
	port   int
	ready  string // address of its health
}

// settings are the parts of a configuration that tests choose, in YAML.
type settings struct {
	receivers  string   // without its first line
	processors []string // of all pipelines, with their defaults
	sink       string   // more keys of the sink
	pipelines  []string
	command    []string // in front of the Collector
	configs    []string // files of a configuration that this one adds to
	process    *syscall.SysProcAttr
}

// configuration returns the configuration of a Collector.
func (c *collector) configuration(s settings) string {
	var b strings.Builder
	fmt.Fprintf(&b, "receivers:\n%s\n", s.receivers)
	b.WriteString("processors:\n  memory_limiter: {check_interval: 100ms, limit_mib: 512}\n")
	fmt.Fprintf(&b, "exporters:\n  sink:\n    report: %s\n    stall: %s\n%s\n", c.report, c.stall, s.sink)
	fmt.Fprintf(&b, "extensions:\n  file_storage: {directory: %s, create_directory: true}\n", c.storage())
	fmt.Fprintf(&b, "  health_check: {http: {endpoint: '%s', status: {path: /}}, component_health: {include_permanent_errors: true, include_recoverable_errors: true}}\n", c.ready)
	fmt.Fprintf(&b, "service:\n  extensions: [file_storage, health_check]\n")
	fmt.Fprintf(&b, "  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: %s, port: %d, without_scope_info: true, without_type_suffix: true, without_units: true}}}}]}}\n", c.host, c.port)
	fmt.Fprintf(&b, "  pipelines:\n")
	for _, p := range s.pipelines {
		receiver, _, _ := strings.Cut(strings.TrimSpace(s.receivers), ":")
		fmt.Fprintf(&b, "    %s: {receivers: [%s], processors: [%s], exporters: [sink]}\n", p, receiver, strings.Join(s.processors, ", "))
	}
	return b.String()
}

// storage returns the directory of file_storage.
func (c *collector) storage() string { return filepath.Join(filepath.Dir(c.report), "storage") }

// healthy reports whether all components do their work.
func (c *collector) healthy() bool {
	response, err := http.Get("http://" + c.ready)
	require.NoError(c.tb, err)
	require.NoError(c.tb, response.Body.Close())
	return response.StatusCode == http.StatusOK
}

// ignoring is a command that runs another one with two signals ignored. A Go program ignores them, but not SIGTERM, until it handles them.
var ignoring = []string{"sh", "-c", `trap "" HUP INT; exec "$@"`, "sh"}

// start starts a Collector, and waits until it handles signals, which is the last step of its start.
func start(tb testing.TB, s settings) *collector {
	dir := tb.TempDir()
	c := &collector{tb: tb, exited: make(chan struct{}), log: filepath.Join(dir, "log"), report: filepath.Join(dir, "report.json"), stall: filepath.Join(dir, "stall")}
	c.host, c.port = freePort(tb)
	host, port := freePort(tb)
	c.ready = fmt.Sprintf("%s:%d", host, port)
	if len(s.pipelines) == 0 {
		s.pipelines = []string{"logs", "traces", "metrics"}
	}
	config := filepath.Join(dir, "config.yaml")
	require.NoError(tb, os.WriteFile(config, []byte(c.configuration(s)), 0o600))
	args := slices.Concat(ignoring, s.command, []string{built(tb, "userevents-collector")})
	for _, path := range append(s.configs, config) {
		args = append(args, "--config", path)
	}
	args = append(args, componentStatus)
	log, err := os.Create(c.log)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, log.Close()) }()
	c.cmd = exec.Command(args[0], args[1:]...)
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.SysProcAttr = log, log, s.process
	require.NoError(tb, c.cmd.Start())
	go func() {
		c.err = c.cmd.Wait()
		close(c.exited)
	}()
	tb.Cleanup(func() {
		if tb.Failed() {
			_ = c.cmd.Process.Signal(syscall.SIGQUIT) // it prints its goroutines
			select {
			case <-c.exited:
				tb.Log(c.err)
			case <-time.After(testscale.Patience): //nolint:forbidigo // the guard
			}
		}
		_ = c.cmd.Process.Kill() // unless it has ended
		<-c.exited
		if tb.Failed() {
			tb.Logf("the Collector says:\n%s", c.said())
		}
	})
	c.until("it handles signals", c.handlesSignals)
	return c
}

// handlesSignals reports whether the Collector handles the signals that it ignored when it began.
func (c *collector) handlesSignals() bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid)) // there is none if it has ended
	_, text, _ := strings.Cut(string(status), "\nSigCgt:")
	text, _, _ = strings.Cut(text, "\n")
	caught, _ := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
	const both = 1<<(syscall.SIGHUP-1) | 1<<(syscall.SIGINT-1)
	return strings.HasPrefix(string(status), "Name:\tuserevents-coll") && caught&both == both
}

// said returns what the Collector has said.
func (c *collector) said() string {
	text, err := os.ReadFile(c.log)
	require.NoError(c.tb, err)
	return string(text)
}

// until waits until a condition is true.
func (c *collector) until(what string, condition func() bool) {
	c.tb.Helper()
	for end := testscale.Deadline(); !condition(); time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // the poll interval
		select {
		case <-c.exited:
			require.True(c.tb, condition(), "the Collector has ended before: %s: %v", what, c.err)
			return
		default:
		}
		if time.Now().After(end) {
			metrics, err := c.tryScrape()
			require.Fail(c.tb, fmt.Sprintf("not after %v: %s", testscale.Patience, what), "own metrics: %v (%v)\nreport: %+v", metrics, err, c.received())
		}
	}
}

// received returns the report of the sink.
func (c *collector) received() sink.Report { return c.reportIn(c.report) }

// reportIn returns the report in a file.
func (c *collector) reportIn(file string) (r sink.Report) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) { // nothing has arrived
		return r
	}
	require.NoError(c.tb, err)
	require.NoError(c.tb, json.Unmarshal(text, &r))
	return r
}

// end ends the Collector as an operator does who types ^C.
func (c *collector) end() {
	c.tb.Helper()
	c.signal(syscall.SIGINT)
	c.wait()
}

func (c *collector) signal(number syscall.Signal) {
	c.tb.Helper()
	require.NoError(c.tb, c.cmd.Process.Signal(number))
}

// wait waits until the Collector has ended.
func (c *collector) wait() {
	c.tb.Helper()
	c.until("the Collector has ended", func() bool {
		select {
		case <-c.exited:
			return true
		default:
			return false
		}
	})
	require.NoError(c.tb, c.err)
}

// samples are values of the Collector's own metrics, by name and labels as Prometheus writes them.
type samples map[string]float64

// scrape reads the Collector's own metrics. On a busy machine it may take more than one request.
func (c *collector) scrape() (own samples) {
	c.tb.Helper()
	c.until("its own metrics can be read", func() bool {
		var err error
		own, err = c.tryScrape()
		return err == nil
	})
	return own
}

// freePort returns a port at a loopback address that no other process of the machine uses: it has the process's id.
func freePort(tb testing.TB) (host string, port int) {
	pid := os.Getpid() // has 22 bits at most
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.%d.%d.%d:0", 64+pid>>16, pid>>8&0xff, pid&0xff))
	require.NoError(tb, err)
	defer func() { require.NoError(tb, listener.Close()) }()
	address := listener.Addr().(*net.TCPAddr)
	return address.IP.String(), address.Port
}

// tryScrape requests the Collector's own metrics.
func (c *collector) tryScrape() (samples, error) {
	client := http.Client{Timeout: testscale.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(fmt.Sprintf("http://%s:%d/metrics", c.host, c.port))
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	all := samples{}
	for lines := bufio.NewScanner(response.Body); ; {
		if !lines.Scan() {
			return all, lines.Err()
		}
		name, value, ok := cutLast(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if all[name], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, err
		}
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// sum adds up the samples of a metric that have all labels.
func (s samples) sum(metric string, labels ...string) (sum int) {
	for name, v := range s {
		if rest, ok := strings.CutPrefix(name, metric); ok && (rest == "" || rest[0] == '{') && containsAll(rest, labels) {
			sum += int(v)
		}
	}
	return sum
}

func containsAll(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}
