package reader_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// TestErrorsSurviveFlood: debug records that fill the rings do not make the kernel lose an error.
func TestErrorsSurviveFlood(t *testing.T) {
	fs := kerneltest.Require(t)
	h, err := sloghandler.New("flooded", nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	r, err := reader.Open(&reader.Options{Tracefs: fs.Path(), Selection: reader.Selection{Events: []string{"flooded"}}, BufferSize: 1})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	logger := slog.New(h)
	const errors = 10 // a ring has room for them
	for i := range errors {
		for range 200 {
			logger.Debug("flood")
		}
		logger.Error("failed", "n", i)
	}
	require.NoError(t, r.Stop())
	read := 0
	for ev := (record.Record{}); ; {
		err := r.Next(&ev)
		if err == io.EOF { //nolint:errorlint // it is returned as it is
			break
		}
		require.NoError(t, err)
		if ev.Severity == record.SeverityError {
			n, _ := ev.Lookup("n")
			assert.EqualValues(t, read, n.Int64())
			read++
		}
	}
	assert.Equal(t, errors, read)
	st, err := r.Stats()
	require.NoError(t, err)
	assert.Equal(t, 2*st.CPUs, st.Rings)
	assert.Equal(t, os.Getpagesize(), st.BufferSize)
	for _, s := range st.Events {
		assert.Equal(t, s.Matched, s.Read+s.Lost, s.Name)
		assert.Equal(t, s.Name == "user_events:flooded_debug", s.Lost > 0, "%+v", s)
	}
}

// TestEventsOfKernel: events of rings are kept while these are written again, and the end of the context wakes the loop.
func TestEventsOfKernel(t *testing.T) {
	fs := kerneltest.Require(t)
	h, err := sloghandler.New("kept", nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	r, err := reader.Open(&reader.Options{Tracefs: fs.Path(), Selection: reader.Selection{Events: []string{"kept"}}, BufferSize: 1, Latency: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	logger := slog.New(h)
	const records, portion = 500, 10 // a ring has room for a portion
	write := func(from int) {
		for i := from; i < from+portion; i++ {
			logger.Info(fmt.Sprint("message ", i), "n", i)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var kept []*record.Record
	write(0)
	for ev, err := range r.Events(ctx) {
		require.NoError(t, err)
		switch kept = append(kept, ev); {
		case len(kept) == records:
			go cancel() // the loop waits, or is about to
		case len(kept)%portion == 0:
			write(len(kept))
		}
	}
	require.Len(t, kept, records)
	for i, ev := range kept {
		n, _ := ev.Lookup("n")
		assert.Equal(t, fmt.Sprint("message ", i), ev.Message)
		assert.EqualValues(t, i, n.Int64())
		assert.Contains(t, string(ev.Raw), ev.Message)
	}
}

// ready reads until no record is ready, or the reader has stopped.
func ready(t *testing.T, r *reader.Reader, each func(*record.Record)) {
	t.Helper()
	r.SetDeadline(time.Now().Add(time.Millisecond))
	for ev := (record.Record{}); ; each(&ev) {
		err := r.Next(&ev)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

// TestLimitOfEndedProgram: while an event is disabled by the limit, its program may end, and another one may register it with other
// fields. The reader keeps nothing of the old event alive, and reads the new one.
func TestLimitOfEndedProgram(t *testing.T) {
	fs := kerneltest.Require(t)
	status, err := fs.Status()
	require.NoError(t, err)
	if status.Max > 0 {
		t.Skip("not on this kernel: before 6.4 events stay without a program")
	}
	register := func(declaration string) (*uevents.Provider, *uevents.Event, error) {
		p, err := uevents.Open(nil)
		require.NoError(t, err)
		ev, err := p.Register(tracepoint.MustParse(declaration), &uevents.EventOptions{Naming: uevents.NameExact})
		if err != nil {
			require.NoError(t, p.Close())
		}
		return p, ev, err
	}
	p, ev, err := register("limit_ended u32 a")
	require.NoError(t, err)
	var notices []reader.Notice
	r, err := reader.Open(&reader.Options{
		Tracefs:   fs.Path(),
		Selection: reader.Selection{Events: []string{"limit_ended"}}, Limit: 1, Latency: time.Millisecond, Poll: time.Millisecond,
		Notify: func(n reader.Notice) { notices = append(notices, n) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	var got []string // names of fields
	next := func() { ready(t, r, func(ev *record.Record) { got = append(got, ev.Fields()[0].Name) }) }
	write := func(ev *uevents.Event, size int) {
		_, err := ev.WriteRecord(make([]byte, uevents.IndexSize+size))
		require.NoError(t, err)
	}
	testscale.Eventually(t, func() bool { write(ev, 4); next(); return !ev.Enabled() }, "the limit has no effect")
	require.NoError(t, p.Close())
	testscale.Eventually(t, func() bool {
		there, err := fs.Event("limit_ended").Exists()
		return err == nil && !there
	}, "the reader keeps the event")
	noticed := func(kind reader.NoticeKind) {
		testscale.Eventually(t, func() bool {
			next()
			return slices.ContainsFunc(notices, func(n reader.Notice) bool { return n.Kind == kind && n.Event == "user_events:limit_ended" })
		}, "%v", &notices)
	}
	noticed(reader.NoticeDetached)

	testscale.Eventually(t, func() bool {
		p, ev, err = register("limit_ended u64 b")
		return err == nil
	}, "the name is taken")
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	noticed(reader.NoticeAttached) // on all processors; the first one enables the event
	assert.True(t, ev.Enabled())
	write(ev, 8)
	testscale.Eventually(t, func() bool { next(); return slices.Contains(got, "b") }, "the new event is not read, or as the old one")
	for _, n := range notices {
		assert.NotEqual(t, reader.NoticeFailed, n.Kind, "%v", n.Err)
	}
}

const envCgroupChild = "USEREVENTS_TEST_CGROUP_CHILD"

// TestContainerOfShortProcess: a process that has written one record and is gone, with its container, when that is read has the id of this
// container, and the uid of its pod.
func TestContainerOfShortProcess(t *testing.T) {
	declaration := tracepoint.MustParse("short_process u32 a")
	register := func() *uevents.Event {
		p, err := uevents.Open(nil)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, p.Close()) })
		ev, err := p.Register(declaration, &uevents.EventOptions{Naming: uevents.NameExact})
		require.NoError(t, err)
		return ev
	}
	if os.Getenv(envCgroupChild) != "" {
		_, err := register().WriteRecord(make([]byte, uevents.IndexSize+4))
		require.NoError(t, err)
		return
	}
	fs := kerneltest.Require(t)
	root := t.TempDir()
	require.NoError(t, syscall.Mount("cgroup2", root, "cgroup2", 0, ""))
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(root, 0)) })
	control := filepath.Join(root, "cgroup.subtree_control")
	require.NoError(t, os.WriteFile(control, []byte("+memory"), 0))
	t.Cleanup(func() { assert.NoError(t, os.WriteFile(control, []byte("-memory"), 0)) })

	register()
	r, err := reader.Open(&reader.Options{Tracefs: fs.Path(), Selection: reader.Selection{Events: []string{"short_process"}}, CgroupID: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })

	const uid = "8dbc5577-d0e2-4706-8787-57d52c03ddf2"
	id := strings.Repeat("0123456789abcdef", 4)
	pod := filepath.Join(root, "pod"+uid)
	require.NoError(t, os.MkdirAll(filepath.Join(pod, id), 0o755))
	group, err := os.Open(filepath.Join(pod, id))
	require.NoError(t, err)
	child := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), envCgroupChild+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	output, err := child.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NoError(t, group.Close())
	require.NoError(t, os.Remove(filepath.Join(pod, id)))
	require.NoError(t, os.Remove(pod))

	require.NoError(t, r.Stop())
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, child.Process.Pid, int(ev.PID))
	assert.NotZero(t, ev.CgroupID)
	assert.Equal(t, "/pod"+uid+"/"+id, ev.Process.Cgroup)
	assert.Equal(t, []string{id, uid}, []string{ev.Process.ContainerID, ev.Process.PodUID})
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
}
