package benchmarks

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/internal/testscale"
)

// sink is a collector in this process, for tests: it keeps the bodies of requests.
type sink struct {
	*httptest.Server
	bodies [][]byte
}

func newSink(tb testing.TB) *sink {
	testscale.NeedLoopback(tb)
	s := &sink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			tb.Error(err)
		}
		s.bodies = append(s.bodies, body)
	}))
	tb.Cleanup(s.Close)
	return s
}

// collector is a collector on this machine, for benchmarks: another process, which decodes requests and discards them.
// It collects its garbage only when it is asked something, so that the work of the garbage collector is in no figure.
type collector struct {
	*child
	url string
}

func startCollector(tb testing.TB) *collector {
	testscale.NeedLoopback(tb)
	c := startChild(tb, "collector:")
	return &collector{c, c.line(tb)}
}

// serveCollector is the process. It prints its address, and answers every line with how many log records, spans and
// metrics it has received.
func serveCollector(_ string, in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	stopGC()
	var received atomic.Int64
	mux := http.NewServeMux()
	// The programs that send to it have one resource and one scope.
	mux.Handle("/v1/logs", receiver(&received, func(r *logs.ExportLogsServiceRequest) int {
		return len(r.GetResourceLogs()[0].GetScopeLogs()[0].GetLogRecords())
	}))
	mux.Handle("/v1/traces", receiver(&received, func(r *traces.ExportTraceServiceRequest) int {
		return len(r.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans())
	}))
	mux.Handle("/v1/metrics", receiver(&received, func(r *metrics.ExportMetricsServiceRequest) int {
		return len(r.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics())
	}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	_, _ = fmt.Fprintln(out, "http://"+l.Addr().String()) // a parent that ended ends the input, too
	for lines := bufio.NewScanner(in); lines.Scan(); {
		runtime.GC()
		_, _ = fmt.Fprintln(out, received.Load())
	}
	err = server.Close()
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		return e
	}
	return err
}

// receiver decodes requests and counts what is in them.
func receiver[T any, M interface {
	*T
	proto.Message
}](received *atomic.Int64, count func(M) int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := M(new(T))
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, request)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		received.Add(int64(count(request)))
	})
}

// TestCollector: the collector of benchmarks counts what it receives, and refuses what it cannot decode.
func TestCollector(t *testing.T) {
	c := startCollector(t)
	log := openOTLP(t, c.url, five, true)
	span := openOTLPTrace(t, c.url, spanScenarios[1])
	for range 3 {
		log.log()
		span.log()
	}
	log.flush()
	assert.Equal(t, "3", c.ask(t))
	span.flush()
	assert.Equal(t, "6", c.ask(t))

	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("not protobuf"))
	response := httptest.NewRecorder()
	receiver(nil, func(*logs.ExportLogsServiceRequest) int { return 0 }).ServeHTTP(response, request)
	assert.Equal(t, http.StatusBadRequest, response.Code)
}

// childEnv says what the test binary does as a child process, and with what argument: KIND:ARGUMENT.
const childEnv = "USEREVENTS_BENCHMARK_CHILD"

// childMain serves as a child process until its input ends. It answers every line.
func childMain(what string) int {
	kind, arg, _ := strings.Cut(what, ":")
	serve := map[string]func(string, io.Reader, io.Writer) error{"event": serveEvent, "collector": serveCollector}[kind]
	if err := serve(arg, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child is the test binary as another process.
type child struct {
	pid int
	in  io.WriteCloser
	out *bufio.Scanner
}

// startChild starts one, which ends with the test.
func startChild(tb testing.TB, what string) *child {
	path, err := os.Executable()
	require.NoError(tb, err)
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), childEnv+"="+what, "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(tb, err)
	out, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		require.NoError(tb, in.Close())
		require.NoError(tb, cmd.Wait())
	})
	return &child{pid: cmd.Process.Pid, in: in, out: bufio.NewScanner(out)}
}

// line returns the next line that it prints.
func (c *child) line(tb testing.TB) string {
	require.True(tb, c.out.Scan(), "the child process ended: %v", c.out.Err())
	return c.out.Text()
}

// ask sends it an empty line and returns its answer.
func (c *child) ask(tb testing.TB) string {
	_, err := fmt.Fprintln(c.in)
	require.NoError(tb, err)
	return c.line(tb)
}
