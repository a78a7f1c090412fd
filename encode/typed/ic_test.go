package typed_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/userevents/userevents-go/encode/typed"
)

func TestMain(m *testing.M) {
	if os.Getenv("IC") == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	t := &testing.B{}
	pair := func(f func()) {
		for range 6 {
			syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
			f()
			syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
		}
	}
	buf := make([]byte, 4, 4096)
	pair(func() {})
	{
		p := mustPlan[HTTPRequest](t)
		v := HTTPRequest{"GET", "/v1/users/{id}", "example.com", 404, 1500}
		pair(func() { out, _ := p.Append(buf, &v, typed.DefaultLimit); sink += len(out) })
		v2 := HTTPRequest{"GET", "/v1/größe/{id}", "example.com", 404, 1500}
		pair(func() { out, _ := p.Append(buf, &v2, typed.DefaultLimit); sink += len(out) })
	}
	{
		v := sample
		p := mustPlan[everything](t)
		pair(func() { out, _ := p.Append(buf, &v, typed.DefaultLimit); sink += len(out) })
	}
	{
		e := newLogEncoder(t)
		id := [16]byte{1, 2, 3}
		pair(func() { sink += len(e.append(buf, "request finished with an error", id)) })
	}
	{
	l := mustLayout(t, "event u64 time_ns; s32 level; __rel_loc char[] msg; char[32] trace_id; char[16] span_id; "+
		"__rel_loc char[] source; __rel_loc char[] attributes; u32 truncated")
		pair(func() { sink += len(l.Begin(buf)) })
		var id [16]byte
		b := l.Begin(buf)
		pair(func() { typed.PutHex(b, 16, id[:]) })
		pair(func() { o, _ := typed.AppendString(b, 16, "request finished with an error", 3000); sink += len(o) })
		pair(func() { o, _ := typed.AppendString(b, 16, "server.go:42", 3000); sink += len(o) })
	}
}
