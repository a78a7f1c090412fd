package reader

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

func init() { patience = testscale.Patience } // the machine may be slow

// publish lets a process have a process context whose resource has these attributes, each with a text. The value of one without an equals
// sign is empty.
func (f fakeProc) publish(pid int32, attributes ...string) {
	f.t.Helper()
	field := func(tag byte, value string) string {
		return string(binary.AppendUvarint([]byte{tag}, uint64(len(value)))) + value
	}
	resource := ""
	for _, a := range attributes {
		key, value, ok := strings.Cut(a, "=")
		if ok {
			value = field(0x0a, value)
		}
		resource += field(0x0a, field(0x0a, key)+field(0x12, value))
	}
	payload := field(0x0a, resource)
	const header, behind = 0x1000, 0x1020
	memory := append(make([]byte, header), "OTEL_CTX"...)
	memory = binary.NativeEndian.AppendUint32(memory, 2)
	memory = binary.NativeEndian.AppendUint32(memory, uint32(len(payload)))
	memory = binary.NativeEndian.AppendUint64(memory, 1)
	memory = binary.NativeEndian.AppendUint64(memory, behind)
	dir := filepath.Join(f.dir, strconv.Itoa(int(pid)))
	require.NoError(f.t, os.WriteFile(filepath.Join(dir, "mem"), append(memory, payload...), 0o600))
	require.NoError(f.t, os.WriteFile(filepath.Join(dir, "maps"), []byte("1000-2000 rw-p 00000000 00:01 5 /memfd:OTEL_CTX (deleted)\n"), 0o600))
}

// TestServiceName: an event has the service that its process publishes, from the first record on.
func TestServiceName(t *testing.T) {
	m := newMachine(t)
	fakeProc{t, m.proc}.publish(812, "service.namespace=acme", "service.name=shop")
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	l.Info("first")
	l.Info("second")
	var first, second Event
	require.NoError(t, r.Next(&first))
	require.NoError(t, r.Next(&second))
	assert.Equal(t, "shop", first.Process.ServiceName)
	assert.Same(t, first.Process, second.Process)
	assert.Empty(t, first.ServiceName, "the record has none")
}

// TestServiceNameLater: a service that is published late is found, with few looks, and a Process does not change. One that is known is not
// looked for again.
func TestServiceNameLater(t *testing.T) {
	const second = uint64(time.Second)
	proc := fakeProc{t, t.TempDir()}
	proc.add(100, "myapp", "/usr/bin/myapp", "/")
	p := newProcesses(proc.dir)
	before := p.at(100, 5*second)
	assert.Empty(t, before.ServiceName)
	proc.publish(100, "service.name=shop")
	assert.Same(t, before, p.at(100, 6*second-1))
	after := p.at(100, 6*second)
	assert.Equal(t, Process{PID: 100, Comm: "myapp", Exe: "/usr/bin/myapp", Cgroup: "/", ServiceName: "shop"}, *after)
	assert.Empty(t, before.ServiceName)
	proc.publish(100, "service.name=other")
	assert.Same(t, after, p.at(100, math.MaxUint64))

	// A child has a context of its own, or none.
	p.update(fork(100, 101))
	assert.Empty(t, p.at(101, 0).ServiceName)
	proc.add(102, "myapp", "/usr/bin/myapp", "/")
	proc.publish(102, "service.name=worker")
	p.update(fork(100, 102))
	assert.Equal(t, "worker", p.at(102, 0).ServiceName)

	// So has a program that a process executes.
	p.update(exec(100, "other"))
	assert.Equal(t, "other", p.at(100, 0).ServiceName)
	proc.add(100, "third", "/third", "/")
	p.update(exec(100, "third"))
	assert.Equal(t, Process{PID: 100, Comm: "third", Exe: "/third", Cgroup: "/"}, *p.at(100, 0))
}

// TestServiceLooks: the interval between two looks grows. A program that writes what times it likes gets no more of them.
func TestServiceLooks(t *testing.T) {
	const second = uint64(time.Second)
	count := func(times func(yield func(uint64) bool)) (n int) {
		var l contextLook
		for now := range times {
			if l.due(now) {
				n++
			}
		}
		return n
	}
	assert.Equal(t, 7, count(func(yield func(uint64) bool) {
		for i := uint64(0); i < 3600*10 && yield(5*second+i*second/10); i++ {
		}
	}), "of an hour with ten records a second")
	assert.Equal(t, maxLooks, count(func(yield func(uint64) bool) {
		for i := uint64(0); i < 1000 && yield(math.MaxUint64-1000+i); i++ {
		}
		for i := 0; i < 64 && yield(1<<i); i++ {
		}
		for i := 0; i < 1000 && yield(math.MaxUint64); i++ {
		}
	}))
}

// TestContextWaits: processes that let each look take as long as is allowed, one after the other, take a small part of the reader's time, and
// after that others are looked at in time.
func TestContextWaits(t *testing.T) {
	patience = time.Second
	t.Cleanup(func() { patience = testscale.Patience })
	const span = 2 * time.Minute
	begin := time.Unix(1e9, 0)
	for _, wait := range []func(allowed time.Duration) time.Duration{
		func(allowed time.Duration) time.Duration { return allowed },
		func(allowed time.Duration) time.Duration { return allowed * 9 / 10 },
		func(allowed time.Duration) time.Duration { return allowed + 100*time.Millisecond }, // the machine is slow
		func(time.Duration) time.Duration { return 100 * time.Microsecond },
	} {
		var a allowance
		now, waited := begin, time.Duration(0)
		for now.Sub(begin) < span {
			d := a.at(now)
			if d > 0 {
				require.LessOrEqual(t, d, patience)
				d = wait(d)
				a.spend(d)
				waited += d
			}
			now = now.Add(max(d, time.Millisecond)) // the next record
		}
		assert.Less(t, waited, span/waitShare+2*patience)
		assert.Greater(t, waited, span/waitShare-2*patience)
		assert.Equal(t, patience, a.at(now.Add(waitShare*2*patience)))
	}
}

// TestServiceNames: the name is a text that is not too long.
func TestServiceNames(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	long := strings.Repeat("x", maxServiceName)
	for i, c := range []struct {
		attributes []string
		want       string
	}{
		{nil, ""},
		{[]string{"service.name"}, ""}, // no text
		{[]string{"service.name="}, ""},
		{[]string{"service.name=" + long}, long},
		{[]string{"service.name=" + long + "x"}, ""},
		{[]string{"service.name=a", "service.name=b"}, "a"},
		{[]string{"service=x", "service.name=a\x1b\xff", "host.name=x"}, "a\x1b\xff"},
	} {
		pid := int32(100 + i)
		proc.add(pid, "a", "/a", "/")
		proc.publish(pid, c.attributes...)
		assert.Equal(t, c.want, newProcesses(proc.dir).at(pid, 0).ServiceName)
	}
}
