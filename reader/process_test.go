package reader

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/processcontext"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
)

const (
	id1 = "4c01db0b339c4c01db0b339c4c01db0b339c4c01db0b339c4c01db0b339cabcd"
	id2 = "00000000339c4c01db0b339c4c01db0b339c4c01db0b339c4c01db0b339cf00f"
)

// inPod returns the cgroup of a container in a pod.
func inPod(id string) string {
	return "/kubepods.slice/kubepods-pod8dbc5577_d0e2_4706_8787_57d52c03ddf2.slice/crio-" + id + ".scope"
}

// podProcess returns the process in such a cgroup.
func podProcess(pid int32, comm, exe, id string) record.Process {
	return record.Process{
		PID: pid, Comm: comm, Exe: exe, Cgroup: inPod(id),
		Unit: "crio-" + id + ".scope", ContainerID: id, PodUID: "8dbc5577-d0e2-4706-8787-57d52c03ddf2",
	}
}

// TestProgram: a program is named after its file, which its threads cannot change.
func TestProgram(t *testing.T) {
	for want, p := range map[string]*record.Process{
		"myapp": {Comm: "worker", Exe: "/usr/bin/myapp"}, "worker": {Comm: "worker"}, "": nil,
	} {
		assert.Equal(t, want, p.Program())
	}
}

// fakeProc is a directory like /proc.
type fakeProc struct {
	t   *testing.T
	dir string
}

func (f fakeProc) add(pid int32, comm, exe, cgroup string) {
	f.t.Helper()
	dir := filepath.Join(f.dir, strconv.Itoa(int(pid)))
	f.remove(pid)
	require.NoError(f.t, os.Mkdir(dir, 0o700))
	require.NoError(f.t, os.WriteFile(filepath.Join(dir, "comm"), []byte(comm+"\n"), 0o600))
	require.NoError(f.t, os.WriteFile(filepath.Join(dir, "cgroup"), []byte("0::"+cgroup+"\n"), 0o600))
	require.NoError(f.t, os.Symlink(exe, filepath.Join(dir, "exe")))
}

func (f fakeProc) remove(pid int32) {
	require.NoError(f.t, os.RemoveAll(filepath.Join(f.dir, strconv.Itoa(int(pid)))))
}

func fork(parent, child int32) *live.Record {
	return &live.Record{Kind: live.Fork, PID: child, TID: child, ParentPID: parent, ParentTID: parent}
}

func exec(pid int32, comm string) *live.Record {
	return &live.Record{Kind: live.Exec, PID: pid, TID: pid, Comm: []byte(comm)}
}

func exit(pid int32) *live.Record { return &live.Record{Kind: live.Exit, PID: pid, TID: pid} }

func TestProcesses(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	p := newProcesses(proc.dir)
	proc.add(100, "myapp", "/usr/bin/myapp (deleted)", inPod(id1))
	first := p.at(100, 0)
	assert.Equal(t, podProcess(100, "myapp", "/usr/bin/myapp", id1), *first, "its file was replaced")
	proc.remove(100)
	assert.Same(t, first, p.at(100, 0), "/proc is read once")
	p.update(exit(100))
	assert.Same(t, first, p.at(100, 0), "its last records may come later")

	// A child inherits the values of its parent, even if both have exited.
	p.update(fork(100, 101))
	assert.Equal(t, podProcess(101, "myapp", "/usr/bin/myapp", id1), *p.at(101, 0))
	p.update(exec(101, "sh"))
	assert.Equal(t, podProcess(101, "sh", "", id1), *p.at(101, 0))
	before := p.at(101, 0)
	p.update(&live.Record{Kind: live.Comm, PID: 101, TID: 105, Comm: []byte("a thread")})
	p.update(fork(101, 101)) // a thread, too
	assert.Same(t, before, p.at(101, 0))
	p.update(&live.Record{Kind: live.Comm, PID: 101, TID: 101, Comm: []byte("renamed")})
	assert.Equal(t, "renamed", p.at(101, 0).Comm)
	assert.Equal(t, "sh", before.Comm, "a Process does not change")

	// The parent is unknown, and runs.
	proc.add(200, "make", "/usr/bin/make", "/user.slice")
	p.update(fork(200, 201))
	p.update(fork(201, 202))
	p.update(exec(202, "cc1"))
	p.update(exit(201))
	p.update(exit(202))
	assert.Equal(t, record.Process{PID: 202, Comm: "cc1", Cgroup: "/user.slice", Unit: "user.slice"}, *p.at(202, 0))
	assert.Equal(t, record.Process{PID: 201, Comm: "make", Exe: "/usr/bin/make", Cgroup: "/user.slice", Unit: "user.slice"}, *p.at(201, 0))

	// An executed program may be in another cgroup.
	proc.add(202, "after", "/bin/after", inPod(id2))
	p.update(fork(200, 202))
	p.update(exec(202, "after"))
	assert.Equal(t, podProcess(202, "after", "/bin/after", id2), *p.at(202, 0))

	assert.Equal(t, record.Process{PID: 999}, *p.at(999, 0))
	assert.Equal(t, record.Process{}, *p.at(0, 0), "a process of another PID namespace")
}

// TestProcessesThatRan: processes that run at the start are known, even if they exit before their first record.
func TestProcessesThatRan(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	proc.add(100, "myapp", "/usr/bin/myapp", inPod(id1))
	proc.add(200, "sh", "/bin/sh", "/")
	require.NoError(t, os.Mkdir(filepath.Join(proc.dir, "sys"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(proc.dir, "300"), 0o700)) // it is exiting
	p := newProcesses(proc.dir)
	p.readAll()
	proc.remove(100)
	assert.Equal(t, podProcess(100, "myapp", "/usr/bin/myapp", id1), *p.at(100, 0))
	p.update(exec(200, "myapp"))
	proc.remove(200)
	assert.Equal(t, record.Process{PID: 200, Comm: "myapp", Cgroup: "/"}, *p.at(200, 0))
	assert.Equal(t, record.Process{PID: 300}, *p.at(300, 0))
	newProcesses(filepath.Join(proc.dir, "nosuch")).readAll()
}

// TestReadAllBounded: of very many running processes, half of those that are tracked are read at the start.
func TestReadAllBounded(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	proc.add(0, "none", "/none", "/") // no process has this id
	proc.add(100, "a", "/a", "/")
	proc.add(101, "b", "/b", "/")
	p := newProcesses(proc.dir)
	for pid := range int32(maxProcesses/2 - 1) {
		p.task(1000 + pid)
	}
	p.readAll()
	assert.Len(t, p.known, maxProcesses/2)
	assert.NotContains(t, p.known, int32(0))
}

// TestExitedKept: as many processes that have exited are known as the limit says.
func TestExitedKept(t *testing.T) {
	p := newProcesses(t.TempDir())
	for pid := int32(1); pid <= maxExited; pid++ {
		p.task(pid)
		p.update(exit(pid))
	}
	assert.Len(t, p.known, maxExited)
	p.task(maxExited + 1)
	p.update(exit(maxExited + 1))
	assert.Len(t, p.known, maxExited/2+1)
	assert.Contains(t, p.known, int32(maxExited/2+1))
	assert.NotContains(t, p.known, int32(maxExited/2), "the oldest are forgotten")
}

// TestProcessesBounded: the number of known processes is bounded, for any number of forks, exits and lost records.
func TestProcessesBounded(t *testing.T) {
	p := newProcesses(t.TempDir())
	p.update(&live.Record{Kind: live.Comm, PID: 1, TID: 1, Comm: []byte("init")})
	for i := int32(2); i < 20*maxExited; i++ {
		p.update(fork(1, i))
		p.update(exit(i))
		p.update(exit(i))
	}
	assert.Equal(t, "init", p.at(1, 0).Comm)
	assert.Equal(t, "init", p.at(20*maxExited-1, 0).Comm, "the latest")
	assert.LessOrEqual(t, len(p.known), maxExited+1)
	for i := int32(2); i < 3*maxProcesses; i++ {
		p.update(fork(1, i))
	}
	assert.LessOrEqual(t, len(p.known), maxProcesses)
	assert.LessOrEqual(t, len(p.exited), maxExited)

	// Two processes are each other's parents, which no kernel reports.
	p.update(fork(7, 6))
	p.known[6].looked = false
	p.update(fork(6, 7))
	p.known[7].looked, p.known[6].looked = false, false
	assert.Equal(t, int32(6), p.at(6, 0).PID)
	assert.Equal(t, int32(7), p.at(7, 0).PID)
}

// TestProcessLimits: neither very many processes nor a long line of ancestors takes much memory or time.
func TestProcessLimits(t *testing.T) {
	p := newProcesses(t.TempDir())
	for pid := range int32(maxProcesses + 1) {
		p.task(pid)
		require.LessOrEqual(t, len(p.known), maxProcesses)
	}

	for last, want := range map[int32]string{maxAncestors + 2: "", maxAncestors + 1: "first"} {
		p = newProcesses(t.TempDir())
		p.task(1).Comm = "first"
		for pid := int32(2); pid <= last; pid++ {
			p.task(pid).parent = pid - 1
		}
		assert.Equal(t, want, p.at(last, 0).Comm)
	}
}

// TestProcessWithoutCgroup: the cgroup is that of /proc, and empty where the kernel has none.
func TestProcessWithoutCgroup(t *testing.T) {
	dir := t.TempDir()
	fakeProc{t, dir}.add(5, "a", "/a", "/system.slice/a.service")
	assert.Equal(t, "/system.slice/a.service", newProcesses(dir).at(5, 0).Cgroup)
	require.NoError(t, os.Remove(filepath.Join(dir, "5", "cgroup")))
	assert.Equal(t, &record.Process{PID: 5, Comm: "a", Exe: "/a"}, newProcesses(dir).at(5, 0))
}

// TestExitedIDIsReused: a process with the id of one that has exited is not forgotten with that one, however often the id exits.
func TestExitedIDIsReused(t *testing.T) {
	p := newProcesses(t.TempDir())
	for _, pid := range []int32{1, 2, 2} {
		delete(p.known, pid)
		p.task(pid)
		p.update(exit(pid))
	}
	delete(p.known, 1)
	p.task(1)
	for pid := int32(3); pid <= maxExited+1; pid++ {
		p.task(pid)
		p.update(exit(pid))
	}
	assert.Contains(t, p.known, int32(1), "it runs")
	assert.NotContains(t, p.known, int32(2))
}

// at returns a process at a time.
func (p *processes) at(pid int32, now uint64) *record.Process { return p.get(pid).at(now, p.contexts) }

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
	var first, second record.Record
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
	assert.Equal(t, record.Process{PID: 100, Comm: "myapp", Exe: "/usr/bin/myapp", Cgroup: "/", ServiceName: "shop"}, *after)
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
	assert.Equal(t, record.Process{PID: 100, Comm: "third", Exe: "/third", Cgroup: "/"}, *p.at(100, 0))
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

// TestProcessResource: a process has the attributes that it publishes, each once, but for those that are too large.
func TestProcessResource(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	proc.add(100, "myapp", "/usr/bin/myapp", "/")
	proc.publish(100, "service.namespace=acme", "service.name=shop", "long="+strings.Repeat("x", maxResource), "host.name=web1", "host.name=web2", "empty")
	p := newProcesses(proc.dir)
	first := p.at(100, 0)
	assert.Equal(t, "shop", first.ServiceName)
	assert.Equal(t, `{"service.namespace":"acme","host.name":"web1","empty":null}`, first.ResourceJSON)
	assert.Same(t, first, p.at(100, 1<<62), "it is read once")

	// One without a name of the service counts, too.
	proc.add(101, "other", "/other", "/")
	proc.publish(101, "team=x")
	assert.Equal(t, `{"team":"x"}`, p.at(101, 0).ResourceJSON)
	p.update(exec(101, "next"))
	proc.publish(101, "team=y")
	assert.Equal(t, `{"team":"y"}`, p.at(101, 0).ResourceJSON)
}

// TestProcessResources: the resources of all processes have a limit, and those of processes that were forgotten make room.
func TestProcessResources(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	p := newProcesses(proc.dir)
	large := "a=" + strings.Repeat("x", maxResource-100)
	proc.add(100, "a", "/a", "/")
	proc.publish(100, "service.name=shop", large)
	p.contexts.bytes.Store(maxAllResources - 100)
	refused := p.at(100, 0)
	assert.Equal(t, "shop", refused.ServiceName)
	assert.Empty(t, refused.ResourceJSON)

	p.contexts.bytes.Store(0)
	for pid := int32(200); pid < 203; pid++ {
		proc.add(pid, "a", "/a", "/")
		proc.publish(pid, large)
		assert.NotEmpty(t, p.at(pid, 0).ResourceJSON)
	}
	assert.Positive(t, p.contexts.bytes.Load())
	p.update(exec(200, "other"))
	p.update(fork(1, 201))
	p.forget(202)
	p.forget(203)
	assert.Zero(t, p.contexts.bytes.Load())
}

// TestContextValues: attributes keep their types.
func TestContextValues(t *testing.T) {
	assert.JSONEq(t, `{"a":[1,"x",null],"b":true,"c":"AQI=","d":0.5}`, record.MapValue([]record.Field{
		{Name: "a", Value: contextValue([]any{int64(1), "x", nil})}, {Name: "b", Value: contextValue(true)}, {Name: "c", Value: contextValue([]byte{1, 2})}, {Name: "d", Value: contextValue(0.5)},
	}).String())
	assert.Equal(t, record.MapValue([]record.Field{{Name: "k", Value: record.Int64Value(7)}}), contextValue([]processcontext.Attribute{{Key: "k", Value: int64(7)}}))
}

// TestManyAttributes: a process that publishes thousands of attributes takes memory, and so time, in proportion, not their square.
func TestManyAttributes(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	proc.add(100, "a", "/a", "/")
	var list []string
	for i := range 6000 {
		list = append(list, fmt.Sprintf("%04x", i))
	}
	proc.publish(100, list...)
	dir := filepath.Join(proc.dir, "100")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resource := readContext(dir).resource
	runtime.ReadMemStats(&after)
	assert.Greater(t, len(resource), maxResource-100)
	assert.LessOrEqual(t, len(resource), maxResource)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1000*len(list)))
}
