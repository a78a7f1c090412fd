package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testMark = "\x00NONCE"

// readAll returns the frames of a stream, with neighbouring output joined.
func readAll(t *testing.T, r io.Reader) []frame {
	t.Helper()
	reader := frameReader{r: r, mark: testMark}
	var frames []frame
	for {
		f, err := reader.next()
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			return frames
		}
		if n := len(frames); n > 0 && f.Kind == frameOutput && frames[n-1].Kind == frameOutput {
			frames[n-1].Data = append(frames[n-1].Data, f.Data...)
			continue
		}
		frames = append(frames, f)
	}
}

func TestStream(t *testing.T) {
	output := func(text string) frame { return frame{Kind: frameOutput, Data: []byte(text)} }
	ready, done := frame{Kind: frameReady}, frame{Kind: frameDone}
	exit := frame{Kind: frameExit, Package: "example.com/a", Failure: "exit status 2\nwith \"quotes\"", Elapsed: time.Second}
	tests := []struct {
		name   string
		frames []frame
	}{
		{"nothing", nil},
		{"no tests", []frame{ready, done}},
		{"output", []frame{ready, output("=== RUN TestA\n"), exit, output("b"), exit, done}},
		{"the guest dies", []frame{ready, output("half a l")}},
		{"NULs in output", []frame{ready, output("a\x00\x00NONSENSE\x00NONC\n\x00"), exit, done}},
		{"much output", []frame{ready, output(strings.Repeat("0123456789\x00\n", 20000)), exit, done}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stream bytes.Buffer
			w := frameWriter{w: &stream, mark: testMark}
			for _, f := range test.frames {
				if f.Kind == frameOutput {
					stream.Write(f.Data)
				} else {
					require.NoError(t, w.send(f))
				}
			}
			whole := stream.Bytes()
			assert.Equal(t, test.frames, readAll(t, bytes.NewReader(whole)))
			assert.Equal(t, test.frames, readAll(t, iotest.OneByteReader(bytes.NewReader(whole))))
			assert.Equal(t, test.frames, readAll(t, iotest.DataErrReader(bytes.NewReader(whole))))
		})
	}
}

// What could still become a mark waits, everything else is passed on at once.
func TestStreamIsLive(t *testing.T) {
	for _, text := range []string{"x", "=== RUN TestA\n", "a\x00b", strings.Repeat("x", 100)} {
		reader := frameReader{r: strings.NewReader(text), mark: testMark}
		f, err := reader.next()
		require.NoError(t, err)
		assert.Equal(t, text, string(f.Data))
	}
	reader := frameReader{r: strings.NewReader("x\x00NON"), mark: testMark}
	f, err := reader.next()
	require.NoError(t, err)
	assert.Equal(t, "x", string(f.Data))
}

func TestStreamRefusesBrokenFrames(t *testing.T) {
	reader := frameReader{r: strings.NewReader(testMark + "{\n"), mark: testMark}
	_, err := reader.next()
	assert.ErrorContains(t, err, "read from the guest")
}

func TestFrameWriterReportsErrors(t *testing.T) {
	read, write := io.Pipe()
	require.NoError(t, read.Close())
	assert.ErrorIs(t, frameWriter{w: write, mark: testMark}.send(frame{Kind: frameDone}), io.ErrClosedPipe)
}
