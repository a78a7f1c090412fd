package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Guest and host share one stream, a virtio-serial port. A test binary writes to it
// directly: what it printed has left the guest when the kernel panics
// the next moment. Before and after, the guest writes frames: a NUL, the job's
// nonce, a JSON value and a newline. A guest that dies leaves a stream without
// frameDone, whatever its tests printed.
//
// In the other direction, a byte asks the guest to stop: the test binary of that
// number (modulo 256), politely the first time; after the last one, itself. The
// number keeps a request that comes too late from stopping the next binary.

// portName names the port.
const portName = "userevents"

// frameKind tells what a frame reports.
type frameKind string

const (
	frameReady  frameKind = "ready"  // the guest is up
	frameOutput frameKind = "output" // a test binary printed Data; such frames are never written
	frameExit   frameKind = "exit"   // a test binary ended
	frameDone   frameKind = "done"   // nothing is left to do
)

// frame is one message from guest to host.
type frame struct {
	Kind    frameKind
	Data    []byte        `json:"-"`
	Package string        `json:",omitempty"` // of frameExit
	Failure string        `json:",omitempty"` // of frameExit: how the binary failed
	Hung    bool          `json:",omitempty"` // of frameExit: it did not end by itself
	Elapsed time.Duration `json:",omitempty"` // of frameExit
}

// frameWriter writes frames.
type frameWriter struct {
	w    io.Writer
	mark string
}

func (w frameWriter) send(f frame) error {
	text, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("send to the host: %w", err)
	}
	if _, err := fmt.Fprintf(w.w, "%s%s\n", w.mark, text); err != nil {
		return fmt.Errorf("send to the host: %w", err)
	}
	return nil
}

// frameReader reads a stream and returns what stands between frames as frames
// too.
type frameReader struct {
	r    io.Reader
	mark string
	buf  []byte
}

func (r *frameReader) next() (frame, error) {
	for {
		if n := r.outputLen(); n > 0 {
			data := bytes.Clone(r.buf[:n])
			r.buf = r.buf[n:]
			return frame{Kind: frameOutput, Data: data}, nil
		}
		if end := bytes.IndexByte(r.buf, '\n'); end >= len(r.mark) && bytes.HasPrefix(r.buf, []byte(r.mark)) {
			var f frame
			if err := json.Unmarshal(r.buf[len(r.mark):end], &f); err != nil {
				return f, fmt.Errorf("read from the guest: %w", err)
			}
			r.buf = r.buf[end+1:]
			return f, nil
		}
		chunk := make([]byte, 32<<10)
		n, err := r.r.Read(chunk)
		r.buf = append(r.buf, chunk[:n]...)
		if n == 0 && err != nil {
			return frame{}, err
		}
	}
}

// outputLen returns how many of the bytes that were read are surely output: those
// before a mark or before what may become one.
func (r *frameReader) outputLen() int {
	if i := bytes.Index(r.buf, []byte(r.mark)); i >= 0 {
		return i
	}
	// A mark has one NUL, its first byte.
	i := bytes.LastIndexByte(r.buf, 0)
	if i >= 0 && bytes.HasPrefix([]byte(r.mark), r.buf[i:]) {
		return i
	}
	return len(r.buf)
}
