//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd) || 386 || arm || mips || mipsle

package memory

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/userevents/userevents-go/internal/backend"
)

// Open fails: the memory needs Unix and words of 64 bits.
func Open(string) (backend.Backend, error) {
	return nil, fmt.Errorf("%w on %s/%s", errors.ErrUnsupported, runtime.GOOS, runtime.GOARCH)
}
