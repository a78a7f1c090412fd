package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// inModule makes a module with a test the current directory.
func inModule(t *testing.T, body string) (dir string) {
	dir = t.TempDir()
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	require.NoError(t, os.WriteFile("go.mod", []byte("module m\n"), 0o600))
	require.NoError(t, os.WriteFile("m_test.go", []byte("package m\n\nimport (\n\t\"os\"\n\t\"strconv\"\n\t\"testing\"\n)\n\nfunc TestA(*testing.T) {\n\t"+
		"_ = os.WriteFile(\"pid\", []byte(strconv.Itoa(os.Getpid())+\"\\n\"), 0o600)\n\t"+body+"\n}\n"), 0o600))
	return dir
}

// TestListNotWritten: in a checkout of another user there are results, and a reason to fail.
func TestListNotWritten(t *testing.T) {
	s := &suite{root: inModule(t, ""), interrupted: t.Context(), guests: 1, list: "m_test.go/list"}
	r := newReport(io.Discard, s)
	require.NoError(t, s.here(r))
	assert.Equal(t, 1, r.passed)
	require.Len(t, r.problems, 1)
	assert.Contains(t, r.problems[0], "the list of tests for guests is not written: ")
}

// TestNotRun: the last line of .ci/run does not say that all passed where the kernel is not built.
func TestNotRun(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("..", "run"))
	require.NoError(t, err)
	phrase := regexp.MustCompile(`grep -q '(.+)' "\$USEREVENTS_SUMMARY"`).FindSubmatch(script)
	require.Len(t, phrase, 2)
	dir := t.TempDir()
	summary, list := filepath.Join(dir, "summary"), filepath.Join(dir, "list")
	require.NoError(t, writeJSON(list, struct{}{}))
	t.Setenv("USEREVENTS_SUMMARY", summary)
	s := &suite{list: list}
	s.machine.kernel = "6.12-uml"
	require.NoError(t, s.notRun("it is not built"))
	text, err := os.ReadFile(summary)
	require.NoError(t, err)
	assert.Contains(t, string(text), string(phrase[1]))
}

// TestInterrupted: the go command and the tests that it runs have ended before the runner does.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &suite{root: inModule(t, "select {}"), interrupted: ctx, guests: 1}
	r := newReport(io.Discard, s)
	ended := make(chan error, 1)
	go func() { ended <- s.here(r) }()
	pid := 0
	testscale.Eventually(t, func() bool {
		text, _ := os.ReadFile("pid")
		line, _, complete := strings.Cut(string(text), "\n")
		pid, _ = strconv.Atoi(line)
		return complete
	}, "the test does not run")
	cancel()
	assert.EqualError(t, <-ended, "interrupted")
	assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
}

// TestCallersEnvironment: the recipes of the Makefile see nothing of what the caller's environment has for programs with this library.
func TestCallersEnvironment(t *testing.T) {
	testscale.NeedProgram(t, "make")
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", filepath.Join("..", ".."), "--eval=environment: ; @env", "environment")
	cmd.Env = append(os.Environ(), "GOWORK=off", "GO111MODULE=off", "OTEL_SDK_DISABLED=true", "USER_EVENTS_TRANSPORT=x", "LC_ALL=fr_FR.UTF-8", "GOFLAGS=-trimpath", "KEPT=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.NotRegexp(t, `(?m)^(GOWORK|GO111MODULE|OTEL_\w+|USER_EVENTS_\w+)=`, string(out))
	assert.Regexp(t, `(?m)^GOFLAGS=-trimpath .*-trimpath=false$`, string(out))
	assert.Regexp(t, `(?m)^LC_ALL=C$`, string(out))
	assert.Regexp(t, `(?m)^KEPT=1$`, string(out))
}
