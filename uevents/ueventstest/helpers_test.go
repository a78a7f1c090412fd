package ueventstest

import (
	"encoding/binary"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/uevents"
)

var generations = []uevents.ABI{uevents.ABIStatusByte, uevents.ABIStatusBit, uevents.ABIEnableAddress}

var statusGenerations = generations[:2]

// onEach runs a test on a kernel of each generation.
func onEach(t *testing.T, abis []uevents.ABI, f func(t *testing.T, k *Kernel)) {
	for _, abi := range abis {
		t.Run(strings.ReplaceAll(abi.String(), " ", "-"), func(t *testing.T) {
			f(t, NewKernel(&Options{ABI: abi, BufferSize: 1 << 16}))
		})
	}
}

// register registers a command at a word and bit, without flags.
func register(f backend.Backend, command string, word *atomic.Uintptr, bit uint8) (backend.Registration, error) {
	return f.Register(backend.Request{Command: command, Word: word, Bit: bit})
}

// mustRegister registers a command at a word of its own.
func mustRegister(t testing.TB, f backend.Backend, command string) backend.Registration {
	t.Helper()
	r, err := register(f, command, new(atomic.Uintptr), 0)
	require.NoError(t, err, "registering %q", command)
	return r
}

func mustAttach(t testing.TB, k *Kernel, kind Kind, names ...string) *Tool {
	t.Helper()
	tool, err := k.Attach(kind, names...)
	require.NoError(t, err, "attaching %s to %q", kind, names)
	return tool
}

// message puts a write index before a payload.
func message(index uint32, payload ...[]byte) []byte {
	buf := binary.NativeEndian.AppendUint32(nil, index)
	for _, p := range payload {
		buf = append(buf, p...)
	}
	return buf
}

// location is a dynamic field's word.
func location(offset, size int) []byte {
	return binary.NativeEndian.AppendUint32(nil, uint32(size<<16|offset))
}

// names returns the names of a kernel's tracepoints.
func names(k *Kernel) []string {
	out := []string{}
	for _, e := range k.Events() {
		out = append(out, e.Name)
	}
	return out
}
