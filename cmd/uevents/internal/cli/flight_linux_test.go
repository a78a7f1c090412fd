package cli

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// TestFlight: the command writes a file for a trigger and for a signal, and the rate holds another trigger back.
func TestFlight(t *testing.T) {
	kerneltest.Require(t)
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	ev, err := p.Register(tracepoint.MustParse("pilot u32 status; u32 n"), nil)
	require.NoError(t, err)
	write := func(status, n byte) {
		t.Helper()
		written, err := ev.WriteRecord([]byte{0, 0, 0, 0, status, 0, 0, 0, n, 0, 0, 0})
		require.NoError(t, err)
		require.True(t, written)
	}
	dir := t.TempDir()
	var stdout, stderr syncbuffer.Buffer
	e := newEnv()
	e.out, e.err = &stdout, &stderr
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, e, []string{"flight", "pilot", "--trigger", "status >= 50", "--at-most", "1/h", "--keep", "1M", "-o", dir, "--format", "txt"})
	}()
	eventually := func(s *syncbuffer.Buffer, pattern string) {
		t.Helper()
		testscale.Eventually(t, func() bool { return regexp.MustCompile(pattern).MatchString(s.String()) }, "%s\n%s", &stdout, &stderr)
	}
	eventually(&stderr, `waiting for pilot with status >= 50, or kill -USR1 \d+; Ctrl-C ends\n`)
	for n := range byte(10) {
		write(20, n)
	}
	write(60, 10)
	eventually(&stderr, `pilot of \S+\[\d+\]: 11 records of 1 process in \d+\.\d s\n`)
	write(70, 11)
	eventually(&stderr, `triggered again: held back by --at-most 1/h\n`)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	eventually(&stderr, `signal: 1 record of 1 process`)
	eventually(&stdout, `(?s)\n.*\n`)
	write(20, 12)
	cancel()
	assert.Equal(t, exitOK, <-code)
	// More may follow: records about processes that started or ended while the rings were copied are lost.
	assert.Contains(t, stderr.String(), "13 matched = 12 read + 0 overwritten + 1 still kept + 0 lost; 2 triggers, 1 held back; 2 files")

	files := strings.Fields(stdout.String())
	require.Len(t, files, 2)
	for i, want := range []int{11, 1} {
		assert.Equal(t, dir, filepath.Dir(files[i]))
		st, err := os.Stat(files[i])
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), st.Mode(), "logs have secrets")
		text, err := os.ReadFile(files[i])
		require.NoError(t, err)
		assert.Equal(t, want, strings.Count(string(text), "\n"), "%s", text)
		assert.Regexp(t, `pilot +status=\d+ n=\d+\n$`, string(text))
	}
}
