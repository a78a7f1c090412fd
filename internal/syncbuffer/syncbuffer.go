// Package syncbuffer has a buffer for tests that read the output of a program while the program writes it.
package syncbuffer

import (
	"bytes"
	"sync"
)

// Buffer is a bytes.Buffer whose methods can be called concurrently. The zero value is empty.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends p. The error is always nil.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
