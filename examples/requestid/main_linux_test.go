//go:build !386 && !arm && !mips && !mipsle

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/attachtest"
	"github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// start starts the program, and returns its URL and process id.
func start(t *testing.T, args ...string) (url string, pid int) {
	t.Helper()
	testscale.NeedLoopback(t)
	program := exec.Command(os.Args[0], append([]string{"-listen", "127.0.0.1:0", "-every", "0"}, args...)...)
	program.Env = append(os.Environ(), envProgram+"=1")
	var file syncbuffer.Buffer
	program.Stderr = &file
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		assert.NoError(t, program.Process.Signal(os.Interrupt))
		assert.NoError(t, program.Wait(), "%s", &file)
		assert.NotContains(t, file.String(), "DEBUG")
	})
	serving := regexp.MustCompile(`"msg":"serving","url":"(.*)"`)
	testscale.Eventually(t, func() bool { return serving.MatchString(file.String()) }, "%s", &file)
	return serving.FindStringSubmatch(file.String())[1], program.Process.Pid
}

// TestWatch: the command shows all records of the requests that fail, of two programs, and none of others.
func TestWatch(t *testing.T) {
	testscale.HostOnly(t)
	t.Setenv(uevents.EnvTransport, uevents.TransportMemory.String())
	testscale.UsesCheckout()
	command := filepath.Join(t.TempDir(), "uevents")
	build := exec.Command("go", "build", "-ldflags", private.LinkerFlags(), "-o", command, ".")
	build.Dir = "../../cmd/uevents"
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)

	front, stock := fmt.Sprintf("requestid_%d_front", os.Getpid()), fmt.Sprintf("requestid_%d_stock", os.Getpid())
	next, asked := start(t, "-name", stock)
	url, asking := start(t, "-name", front, "-next", next)
	// A window without end in practice: the machine may be slow.
	watch := exec.Command(command, "watch", front, stock, "--when", "level >= error", "--same", "request_id", "--window", "10m", "-o", "json")
	var out, errs syncbuffer.Buffer
	watch.Stdout, watch.Stderr = &out, &errs
	require.NoError(t, watch.Start())
	ended := false
	defer func() {
		if !ended {
			_ = watch.Process.Kill()
			_ = watch.Wait()
		}
	}()
	for _, program := range []int{asked, asking} {
		attachtest.Await(t, watch.Process.Pid, program, attachtest.All)
	}

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	want := map[string]int{}
	request := func(n int, header, value string) (id string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s/items/%d", url, n%4), nil)
		require.NoError(t, err)
		if header != "" {
			r.Header.Set(header, value)
		}
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		id = answer.Header.Get("X-Request-Id")
		if n%4 == 0 {
			for _, record := range []string{front + "_debug begin", stock + "_debug begin", stock + "_error query failed", stock + "_info request served", front + "_info request served"} {
				want[id+" "+record]++
			}
		}
		return id
	}
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for n := range 100 {
		assert.NotEmpty(t, request(n, "", ""))
	}
	assert.Equal(t, "order-17", request(1, "X-Request-Id", "order-17"))
	assert.Equal(t, "order-18", request(0, "X-Request-Id", "order-18"))
	assert.NotContains(t, request(0, "X-Request-Id", `"} forged`), "forged")
	assert.Equal(t, trace, request(0, "traceparent", "00-"+trace+"-00f067aa0ba902b7-01"))
	last := request(0, "", "")

	shown := func() map[string]int {
		got := map[string]int{}
		for line := range strings.Lines(out.String()) {
			var record struct {
				Event, Message string
				Fields         map[string]any
			}
			if strings.HasSuffix(line, "\n") { // it may be on its way
				require.NoError(t, json.Unmarshal([]byte(line), &record))
				got[fmt.Sprintf("%s %s %s", record.Fields["request_id"], record.Event, record.Message)]++
			}
		}
		return got
	}
	testscale.Eventually(t, func() bool { return shown()[last+" "+front+"_info request served"] > 0 }, "%s", &errs)
	require.NoError(t, watch.Process.Signal(os.Interrupt))
	ended = true
	require.NoError(t, watch.Wait(), "%s", &errs)
	assert.Equal(t, want, shown(), "%s", &errs)
	assert.NotContains(t, errs.String(), " lost")
}
