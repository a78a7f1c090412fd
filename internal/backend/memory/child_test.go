//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/memory/attach"
	_ "github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/internal/memory/ring"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
)

// What the test binary does as a child of tests: first the setups, and then its role, which obeys lines of input and answers each
// with a line.
const (
	envRole    = "USER_EVENTS_TEST_ROLE"    // a key of roles
	envLowered = "USER_EVENTS_TEST_LOWERED" // a setup for the role "lowered"
	envDir     = "USER_EVENTS_TEST_DIR"     // for the files of the program
	envSetup   = "USER_EVENTS_TEST_SETUP"   // keys of setups, with a value if they take one: "limit=5 change"
)

// actor is a child, from inside.
type actor struct {
	in   *bufio.Scanner
	args []string // of the line of input
}

func (a *actor) say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// told waits for a line of input. It reports false at the end.
func (a *actor) told() bool {
	more := a.in.Scan()
	a.args = append(strings.Fields(a.in.Text()), "", "")
	return more
}

// rest returns the line of input without its first word: the name of a file, which may have spaces.
func (a *actor) rest() string {
	_, name, _ := strings.Cut(a.in.Text(), " ")
	return name
}

func (a *actor) number(i int) int {
	n, err := strconv.Atoi(a.args[i])
	check(err)
	return n
}

var roles = map[string]func(*actor){
	"program": asProgram, "lowered": lowered, "steps": steps, "rootless": rootless, "brief": brief, "tool": tool, "files": listFiles,
	"writer": writer, "comes and goes": comesAndGoes, "idle": idle, "silent": silent, "privileged": privileged,
	"full rings": func(*actor) { fullRings() }, "tool of parent": func(*actor) { toolOfParent() },
}

func TestMain(m *testing.M) {
	if role := os.Getenv(envRole); role != "" {
		play(role)
		return
	}
	leakcheck.Main(m)
}

// play plays a role.
func play(role string) {
	todo := strings.Fields(os.Getenv(envSetup))
	for i, s := range todo {
		check(os.Setenv(envSetup, strings.Join(todo[i+1:], " "))) // if the setup executes the program again
		name, value, _ := strings.Cut(s, "=")
		if err := setups[name](value); err != nil {
			check(fmt.Errorf("%s: %w", s, err))
		}
	}
	roles[role](&actor{in: bufio.NewScanner(os.Stdin)})
}

// asProgram is a program with an event.
func asProgram(a *actor) {
	p := &subject{actor: a}
	if err := p.open(); err != nil {
		a.say("refused: %v", err)
	} else {
		a.say("ready %d", os.Getpid())
	}
	for a.told() {
		p.obey()
	}
}

// privileged is a program of root with files of another user, as one with a set-user-ID bit that was given them.
func privileged(a *actor) {
	check(syscall.Seteuid(user))
	p := &subject{actor: a}
	check(p.open())
	check(syscall.Seteuid(0))
	a.say("ready %d", os.Getpid())
	for a.told() {
		p.obey()
	}
}

// idle is a program that has no memory yet.
func idle(a *actor) {
	for p := (&subject{actor: a}); a.told(); {
		p.obey()
	}
}

// lowered is a program whose limits become lower after Open.
func lowered(a *actor) {
	p := &subject{actor: a}
	var err error
	p.f, err = Open("")
	check(err)
	name, value, _ := strings.Cut(os.Getenv(envLowered), "=")
	check(setups[name](value))
	if err := p.register(); err != nil {
		a.say("refused: %v", err)
	}
	check(p.f.Close())
	check(setLimit(syscall.RLIMIT_NOFILE, "100"))
	listFiles(a)
}

// subject is the program that the tests are about.
type subject struct {
	*actor

	f    backend.Backend
	word *atomic.Uintptr
	r    backend.Registration

	leave    func() // the session of ask
	room     ring.Room
	reserved int64 // when room was
}

func (p *subject) open() (err error) {
	if p.f, err = Open(os.Getenv(envDir)); err != nil {
		return err
	}
	return p.register()
}

func (p *subject) register() (err error) {
	if p.word, err = p.f.NewWord(); err != nil {
		return err
	}
	p.r, err = p.f.Register(backend.Request{Command: "ue_env u64 n", Word: p.word})
	return err
}

func (p *subject) enabled() bool { return p.r.Word.Load()&p.r.Mask != 0 }

// write writes records of a size, as soon as the event is enabled.
func (p *subject) write(n, size int) {
	if !testscale.Wait(p.enabled) {
		check(errors.New("the event is not enabled"))
	}
	buf := make([]byte, max(size, 12))
	binary.NativeEndian.PutUint32(buf, p.r.Index)
	for i := range n {
		binary.NativeEndian.PutUint64(buf[4:], uint64(i))
		check(p.f.Write(buf))
	}
}

func (p *subject) obey() {
	switch p.args[0] {
	case "write": // N SIZE
		p.write(p.number(1), p.number(2))
		p.say("wrote")
	case "fail": // writes until that fails
		if p.args[1] != "" {
			p.ask(p.number(1), 1)
		}
		var err error
		for err == nil {
			err = p.f.Write(binary.NativeEndian.AppendUint32(make([]byte, 0, 1004), p.r.Index)[:1004])
		}
		p.say("enabled=%t: %v", p.enabled(), err)
	case "open":
		check(p.open())
		p.say("opened")
	case "enabled":
		p.say("enabled=%t", p.enabled())
	case "reserve": // room for a record that is not complete
		var answer ring.Answer
		i := 0 // the tool's session
		for process().sessions[i].opened.Load() == nil {
			i++
		}
		if p.room, answer = process().sessions[i].opened.Load().Reserve(0, ring.Size(8)); answer != ring.Reserved {
			check(errors.New("no room"))
		}
		p.reserved = sys.Nanotime()
		p.say("reserved")
	case "commit":
		p.room.Commit(0, uint64(p.reserved), make([]byte, 8))
		p.say("committed")
	case "expired": // ends the session of a tool that does not read any more
		process().files.control.Sessions[0].Expires.Store(1)
		for p.enabled() {
			p.write(1, 12)
		}
		p.say("expired")
	case "register": // and close another event
		p.say("%v", p.another("ue_other"))
	case "churn":
		for i := range p.number(1) {
			p.churn(i)
		}
		p.say("churned")
	case "busy": // until the files are cut off
		p.busy()
	case "lock": // another file, as databases do
		file, err := os.Create(p.rest())
		check(err)
		check(syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
		locked = append(locked, file)
		p.say("locked")
	case "chdir":
		check(os.Chdir(p.rest()))
		p.say("changed")
	case "sealed":
		p.say("unsealed %d", process().files.data.Unsealed)
	case "quiet": // gives back what starting took
		debug.FreeOSMemory()
		p.say("quiet")
	case "exec":
		check(syscall.Exec(self, os.Args, os.Environ()))
	case "uid":
		check(syscall.Setuid(p.number(1)))
		p.say("uid %d", os.Getuid())
	case "unpopulated": // is what a tool asks for
		_, shown := p.ask(2<<20, 1)
		p.write(1, 12)
		p.say("refused %d", shown.Refused.Load())
	case "spawn":
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), envRole+"=files")
		out, err := cmd.Output()
		check(err)
		p.say("%s", strings.TrimSpace(string(out)))
	case "files":
		listFiles(p.actor)
	case "close":
		p.closeAll()
		p.say("closed")
	default:
		check(fmt.Errorf("unknown: %q", p.args))
	}
}

func (p *subject) closeAll() {
	check(p.f.Unregister(p.word, 0))
	p.f.FreeWord(p.word)
	check(p.f.Close())
}

// another registers an event, writes to it, and closes it.
func (p *subject) another(name string) error {
	word, err := p.f.NewWord()
	if err != nil {
		return err
	}
	defer p.f.FreeWord(word)
	r, err := p.f.Register(backend.Request{Command: name + " u64 n", Word: word, Bit: 3})
	if err != nil {
		return err
	}
	err = p.f.Write(binary.NativeEndian.AppendUint32(make([]byte, 0, 12), r.Index)[:12])
	if errors.Is(err, syscall.EBADF) { // not enabled
		err = nil
	}
	return errors.Join(err, p.f.Unregister(word, 3))
}

// churn does all that a program does, whatever becomes of it.
func (p *subject) churn(i int) {
	for i := range process().sessions {
		process().sessions[i].checked.Store(math.MinInt64 / 2)
	}
	_ = p.another("ue_other" + strconv.Itoa(i))
	for range 16 {
		_ = p.f.Write(binary.NativeEndian.AppendUint32(make([]byte, 0, 104), p.r.Index)[:104])
	}
}

// locked are files that stay open.
var locked []*os.File

// busy writes, registers and closes from many goroutines, until nothing comes of the files any more.
func (p *subject) busy() {
	lost := func() bool { return p.f.(careful).lost() != nil }
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := 0; !lost(); n++ {
				if i < 4 {
					_ = p.f.Write(binary.NativeEndian.AppendUint32(make([]byte, 0, 104), p.r.Index)[:104])
					continue
				}
				f, err := Open(os.Getenv(envDir))
				check(err)
				_ = (&subject{f: f}).another(fmt.Sprintf("ue_busy_%d_%d", i, n%100))
				check(f.Close())
			}
		})
	}
	p.say("busy")
	wg.Wait()
	p.say("enabled=%t", p.enabled())
}

// comesAndGoes is a program that has its memory all over again.
func comesAndGoes(a *actor) {
	for first := true; ; first = false {
		p := &subject{actor: a}
		check(p.open())
		if first {
			a.say("ready %d", os.Getpid())
		}
		for _, path := range process().files.paths {
			_, err := os.Stat(path)
			check(err)
		}
		p.closeAll()
	}
}

// steps is a program that says what it does next.
func steps(a *actor) {
	p := &subject{actor: a}
	a.say("open")
	var err error
	p.f, err = Open("")
	check(err)
	a.say("register")
	check(p.register())
	a.say("again")
	word, err := p.f.NewWord()
	check(err)
	_, err = p.f.Register(backend.Request{Command: "ue_again", Word: word})
	check(err)
	a.say("ready %d", os.Getpid())
	for a.told() {
		a.say("write")
		p.write(a.number(1), a.number(2))
		a.say("wrote")
	}
}

// rootless runs a program in a user namespace in which the caller is root.
func rootless(*actor) {
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envRole+"=program")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	runtime.LockOSThread() // whose death it is
	check(cmd.Run())
}

// brief is a program that ends as soon as it has written, and closes nothing.
func brief(*actor) {
	f, err := Open("")
	check(err)
	word, err := f.NewWord()
	check(err)
	r, err := f.Register(backend.Request{Command: "ue_env u64 n", Word: word})
	check(err)
	if word.Load()&r.Mask != 0 {
		check(f.Write(binary.NativeEndian.AppendUint32(make([]byte, 0, 12), r.Index)[:12]))
	}
}

// listFiles says which files are open.
func listFiles(a *actor) {
	files, err := openFiles(os.Getpid())
	check(err)
	a.say("open: %s", strings.Join(files, " "))
}

// openFiles returns the targets of a process's descriptors, sorted.
func openFiles(pid int) (list []string, err error) {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if target, err := os.Readlink(dir + e.Name()); err == nil && !strings.HasPrefix(target, "/proc/") {
			target, _, _ = strings.Cut(target, " ")
			list = append(list, target)
		}
	}
	slices.Sort(list)
	return list, err
}

// tool attaches to programs.
func tool(a *actor) {
	var p *attach.Program
	var s *attach.Session
	var err error
	fail := func() { a.say("refused permission=%t: %v", errors.Is(err, fs.ErrPermission), err) }
	a.say("ready %d", os.Getpid())
	for a.told() {
		switch a.args[0] {
		case "attach": // PID SIZE
			if p, err = attach.Open(a.number(1)); err != nil {
				fail()
				continue
			}
			if s, err = p.Attach(attach.Options{Patterns: []string{"ue_env"}, RingSize: a.number(2)}); err != nil {
				err = errors.Join(err, p.Close())
				fail()
				continue
			}
			a.say("attached")
		case "read": // until the program has written so many
			n, lost := 0, uint64(0)
			if !testscale.Wait(func() bool {
				n += len(s.Read())
				lost = s.Lost(0)
				return n+int(lost) >= a.number(1)
			}) {
				check(fmt.Errorf("%d records read, %d lost", n, lost))
			}
			a.say("read %d lost %d", n, lost)
		case "files":
			listFiles(a)
		case "detach":
			check(errors.Join(s.Detach(), p.Close()))
			a.say("detached")
		default:
			check(fmt.Errorf("unknown: %q", a.args))
		}
	}
}

// setups prepare the surroundings of a child.
var setups = map[string]func(value string) error{
	"fsize":      func(v string) error { return setLimit(syscall.RLIMIT_FSIZE, v) },
	"nofile":     func(v string) error { return setLimit(syscall.RLIMIT_NOFILE, v) },
	"space":      limitSpace,
	"root":       readOnlyRoot,
	"undumpable": func(string) error { return prctl(setDumpable, 0) },
	"dumpable":   func(string) error { return prctl(setDumpable, 1) }, // as after exec, which needs files
	"without":    without,
	"cgroup":     func(v string) error { return os.WriteFile(v+"/cgroup.procs", []byte(strconv.Itoa(os.Getpid())), 0) },
	"uid": func(v string) error {
		id, err := strconv.Atoi(v)
		return errors.Join(err, syscall.Setgroups(nil), syscall.Setgid(id), syscall.Setuid(id))
	},
	"exec":    func(string) error { return syscall.Exec(self, os.Args, os.Environ()) },
	"patient": bePatient,
}

// self is the path of the program.
const self = "/proc/self/exe"

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// setLimit sets the soft limit, which a program can raise.
func setLimit(which int, value string) error {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return err
	}
	var l syscall.Rlimit
	if err := syscall.Getrlimit(which, &l); err != nil {
		return err
	}
	l.Cur = n
	return syscall.Setrlimit(which, &l)
}

// limitSpace leaves so many bytes of address space.
func limitSpace(left string) error {
	runtime.KeepAlive(make([]byte, 16<<20)) // the heap need not grow any more: that would end the program
	runtime.GC()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	used, err := strconv.Atoi(strings.Fields(string(statm))[0])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(left)
	if err != nil {
		return err
	}
	return setLimit(syscall.RLIMIT_AS, strconv.Itoa(used*os.Getpagesize()+n))
}

// readOnlyRoot gives the process, which has a mount namespace, a root that is empty, and which it cannot write to:
// there is no /proc and no /dev.
func readOnlyRoot(string) error {
	const dir = "/tmp" // what is there stays as it is for others
	return inOrder(
		func() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") },
		func() error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755") },
		func() error {
			return syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")
		},
		func() error { return syscall.Chroot(dir) },
		func() error { return os.Chdir("/") },
		func() error {
			if err := os.WriteFile("/x", nil, 0o600); !errors.Is(err, syscall.EROFS) {
				return fmt.Errorf("writing into a root that is read-only: %w", err)
			}
			return nil
		})
}

func inOrder(steps ...func() error) error {
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// Operations of prctl, include/uapi/linux/prctl.h.
const (
	setDumpable = 4
	capBsetDrop = 24
)

func prctl(operation, argument uintptr) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, operation, argument, 0); errno != 0 {
		return errno
	}
	return nil
}

// without executes the program again without a capability.
func without(capability string) error {
	n, err := strconv.Atoi(capability)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // which the capability is taken from
	return inOrder(
		func() error { return prctl(capBsetDrop, uintptr(n)) },
		func() error { return syscall.Exec(self, os.Args, os.Environ()) })
}

// child is a child, from outside.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	pid int // here: in a namespace of its own it is 1
}

// childOptions say what a child is. The zero value is a program as the test runs.
type childOptions struct {
	role  string
	setup string
	attr  *syscall.SysProcAttr
	env   []string
	under []string // a command that runs it
}

func startChild(t *testing.T, o childOptions) *child {
	t.Helper()
	args := append(slices.Clone(o.under), self)
	if o.under != nil {
		exe, err := os.Executable()
		require.NoError(t, err)
		args[len(args)-1] = exe
	}
	c := &child{t: t, cmd: exec.Command(args[0], args[1:]...)}
	c.cmd.Env = append(append(os.Environ(), envRole+"="+o.role, envSetup+"="+o.setup,
		"GORACE=atexit_sleep_ms=0"), o.env...) // a second for each child otherwise
	c.cmd.SysProcAttr, c.cmd.Stderr = o.attr, os.Stderr
	in, err := c.cmd.StdinPipe()
	require.NoError(t, err)
	c.in = in
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewScanner(out)
	require.NoError(t, c.cmd.Start())
	c.pid = c.cmd.Process.Pid
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it normally has ended
		_ = c.cmd.Wait()
	})
	return c
}

// startReady starts a child and waits for it.
func startReady(t *testing.T, o childOptions) *child {
	t.Helper()
	c := startChild(t, o)
	c.ready()
	return c
}

// ready waits until a child is ready.
func (c *child) ready() {
	c.t.Helper()
	var pid int
	_, err := fmt.Sscanf(c.says(), "ready %d", &pid)
	require.NoError(c.t, err)
	if pid != 1 { // in a namespace
		c.pid = pid
	}
}

// says returns the next line of a child.
func (c *child) says() string {
	c.t.Helper()
	require.True(c.t, c.out.Scan(), "the child says nothing")
	return c.out.Text()
}

// asked tells a child a line and returns the answer.
func (c *child) asked(format string, args ...any) string {
	c.t.Helper()
	c.tell(format, args...)
	return c.says()
}

func (c *child) tell(format string, args ...any) {
	c.t.Helper()
	_, err := fmt.Fprintf(c.in, format+"\n", args...)
	require.NoError(c.t, err)
}

// end lets a child end, which must not fail.
func (c *child) end() {
	c.t.Helper()
	require.NoError(c.t, c.in.Close())
	for c.out.Scan() {
		c.t.Log("the child says at the end: ", c.out.Text())
	}
	require.NoError(c.t, c.cmd.Wait())
}

// openSubject makes the test's process a program.
func openSubject(t *testing.T) *subject {
	t.Helper()
	p := &subject{}
	require.NoError(t, p.open())
	return p
}

// close undoes openSubject.
func (p *subject) close(t *testing.T) {
	t.Helper()
	if p.leave != nil {
		p.leave()
	}
	require.NoError(t, p.f.Unregister(p.word, 0))
	p.f.FreeWord(p.word)
	require.NoError(t, p.f.Close())
}
