package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFollow(t *testing.T) {
	const mark = "\x00NONCE"
	for _, c := range []struct {
		name    string
		stream  string
		hangs   bool // instead of hanging up
		printed string
		status  int
		failure string
		asked   int // to stop
	}{
		{name: "success", stream: "a\nPASS\n" + mark + "0\n", printed: "a\nPASS\n"},
		{name: "failure", stream: "FAIL" + mark + "2\n", printed: "FAIL", status: 2},
		{name: "NULs in output", stream: "a\x00\x00NONSENSE\x00NONC\n\x00" + mark + "0\n", printed: "a\x00\x00NONSENSE\x00NONC\n\x00"},
		{name: "death", stream: "half a l", printed: "half a l", failure: "the guest stopped before its work was done"},
		{name: "death within the status", stream: "x" + mark + "1", printed: "x", failure: "the guest stopped before its work was done"},
		{name: "hang", stream: "x", hangs: true, printed: "x", asked: 2, failure: "the guest hung: it printed nothing for 20ms and did not stop its tests"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			defer func() { _ = r.Close() }()
			var requests, out bytes.Buffer
			g := guest{mark: []byte(mark), requests: &requests, chunks: make(chan []byte)}
			var silence time.Duration
			if c.hangs {
				silence = 20 * time.Millisecond
			}
			go g.read(iotest.OneByteReader(r))
			go func() {
				_, _ = w.Write([]byte(c.stream))
				if !c.hangs {
					_ = w.Close()
				}
			}()
			end, err := g.follow(silence, &out)
			require.NoError(t, err, c.name)
			assert.Equal(t, c.printed, out.String(), c.name)
			assert.Equal(t, c.status, end.status, c.name)
			assert.Equal(t, c.failure, end.failure, c.name)
			assert.Equal(t, c.asked, strings.Count(requests.String(), "{\"Args\":null,"), c.name)
		})
	}
}

// A test that ends once it was asked to has hung all the same.
func TestFollowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer func() { _ = r.Close() }()
		asked, request := io.Pipe()
		g := guest{mark: []byte("\x00N"), requests: request, chunks: make(chan []byte)}
		go g.read(r)
		go func() {
			_, _ = asked.Read(make([]byte, 99))
			_, _ = w.Write([]byte("SIGQUIT: quit\n\x00N2\n"))
		}()
		var out bytes.Buffer
		end, err := g.follow(time.Minute, &out)
		require.NoError(t, err)
		assert.Equal(t, "SIGQUIT: quit\n", out.String())
		assert.Equal(t, "the test hung: it printed nothing for 1m0s (exit status 2)", end.failure)
	})
}

// A machine that does not start is a problem of every test binary.
func TestNoMachine(t *testing.T) {
	r := newReport(io.Discard, &suite{machine: machine{kernel: "6.12-uml"}})
	w := worker{suite: &suite{machine: machine{kernel: "6.12-uml", image: "/nonexistent", init: "/x", dir: t.TempDir()}}, report: r}
	w.run(program{pkg: "p"})
	w.run(program{pkg: "q"})
	w.drop()
	for i, pkg := range []string{"p", "q"} {
		assert.Contains(t, r.problems[i], pkg+": start nonexistent: fork/exec /nonexistent: no such file or directory")
	}
}
