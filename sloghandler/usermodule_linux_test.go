//go:build !386 && !arm && !mips && !mipsle

package sloghandler_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// userTest is a test that a user could have: of a program that logs, in a bubble, and that must not leave goroutines.
const userTest = `package user

import (
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/userevents/userevents-go/sloghandler"
)

func work(log *slog.Logger) time.Duration {
	began := time.Now()
	for i := range 3 {
		log.Info("working", "i", i)
		time.Sleep(time.Hour)
	}
	return time.Since(began)
}

func files(t *testing.T) (n int) {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(target, "/memfd:userevents") {
			n++
		}
	}
	return n
}

func TestWork(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			h, err := sloghandler.New("user", nil)
			if err != nil {
				t.Fatal(err)
			}
			if took := work(slog.New(h)); took != 3*time.Hour {
				t.Error(took)
			}
			if n := files(t); n != 2 {
				t.Error("the events are not in shared memory: ", n, " files")
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
	h, err := sloghandler.New("user", nil)
	if err != nil {
		t.Fatal(err)
	}
	slog.New(h).Info("outside")
	synctest.Test(t, func(t *testing.T) { work(slog.New(h)) })
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for runtime.NumGoroutine() > before { // one that has done its work still has to end; the test's time limit prints them
		time.Sleep(time.Millisecond)
	}
	if n := files(t); n != 0 {
		t.Error("left behind: ", n, " files")
	}
}
`

// TestUserModule runs go test in a module of a user, whose programs log to shared memory.
func TestUserModule(t *testing.T) {
	testscale.HostOnly(t)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	// The version of x/sys in this checkout's workspace: the library's own, a lower one, may not be in the module cache.
	sys, err := exec.Command("go", "list", "-m", "golang.org/x/sys").Output()
	require.NoError(t, err)
	dir := t.TempDir()
	const library = "github.com/userevents/userevents-go"
	for name, text := range map[string]string{
		"go.mod": "module user\n\ngo 1.25.0\n\nrequire (\n\t" + library + " v0.0.0\n\t" + strings.TrimSpace(string(sys)) + " // indirect\n)\n\n" +
			"replace " + library + " => " + strconv.Quote(root) + "\n",
		"user_test.go": userTest,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command("go", "test", "-count=1", "-timeout="+testscale.Patience.String(), "-v", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", uevents.EnvTransport+"=memory")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: TestWork")
}
