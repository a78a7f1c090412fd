package uevents_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// What the test binary does when it runs as the child of another: see TestChild.
const (
	childEvent = "USER_EVENTS_TEST_EVENT" // the event to register
	childSetup = "USER_EVENTS_TEST_SETUP" // a key of setups: what to do before
	childTask  = "USER_EVENTS_TEST_TASK"  // a key of tasks: what to do when the event is registered
)

// TestChild is not a test: it is the program that other tests run with fewer
// rights. It prints "ok" when its event is registered, waits for a line of input, does its task, by default
// none, writes one record and prints "wrote"; or it prints why it could not.
func TestChild(t *testing.T) {
	name := os.Getenv(childEvent)
	if name == "" {
		return
	}
	setup := os.Getenv(childSetup)
	require.NoError(t, setups[setup]())
	var o uevents.Options
	if setup == "descriptor" {
		o.File = os.NewFile(3, "user_events_data")
	}
	p, err := uevents.Open(&o)
	if err != nil {
		fmt.Printf("\nchild: permission=%t unsupported=%t %v\n", errors.Is(err, fs.ErrPermission), errors.Is(err, uevents.ErrNotSupported), err)
		return
	}
	ev := mustRegister(t, p, name, nil)
	c := &program{t, p, ev, bufio.NewReader(os.Stdin)}
	c.say("ok")
	c.told()
	if task := os.Getenv(childTask); task != "" {
		tasks[task](c)
	}
	require.True(t, ev.Enabled())
	mustWrite(t, ev, buffer("from the child"))
	fmt.Println("\nchild: wrote")
	require.NoError(t, p.Close())
}

// program is what a child is, from inside.
type program struct {
	t  *testing.T
	p  *uevents.Provider
	ev *uevents.Event
	in *bufio.Reader
}

func (c *program) say(text string) { fmt.Println("\nchild: " + text) }

// told waits for a line of input.
func (c *program) told() {
	_, err := c.in.ReadString('\n')
	require.NoError(c.t, err)
}

// setups prepare a child's surroundings. Those that mount have a mount namespace of their
// own.
var setups = map[string]func() error{
	"":           func() error { return nil },
	"descriptor": func() error { return nil },
	"private":    private,
	"executed":   inheritsNothing,
	"unkillable": func() error { return os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0) },
	// What systemd does between fork and execve.
	"passed": func() error {
		return errors.Join(os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid())), os.Setenv(childSetup, ""), syscall.Exec(os.Args[0], os.Args, os.Environ()))
	},
	"read-only": func() error {
		// debugfs has a second way to the file.
		return errors.Join(private(), unmount("/sys/kernel/debug/tracing", "/sys/kernel/debug"),
			syscall.Mount("", tracefs.DefaultDir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	},
	"unmounted": func() error { return errors.Join(private(), unmountAll()) },
	// A container that has one file and nothing else, at an unusual place.
	"projected": func() error { return project(projectedDir, tracefs.DataFile) },
	// With the second file that kernels before 6.4 need.
	"projected with status": func() error { return project(projectedDir, tracefs.DataFile, tracefs.StatusFile) },
	"projected read-only": func() error {
		return errors.Join(project(projectedDir, tracefs.DataFile, tracefs.StatusFile),
			syscall.Mount("", projectedDir+"/"+tracefs.DataFile, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	},
	// At the usual place, and nothing to find it by.
	"projected, no proc": func() error {
		return errors.Join(project(projectedDir, tracefs.DataFile, tracefs.StatusFile),
			syscall.Mount(projectedDir, tracefs.DefaultDir, "", syscall.MS_BIND|syscall.MS_REC, ""),
			unmount("/proc"))
	},
	// As docs/operating.md starts containers and pods.
	"container": func() error {
		return errors.Join(project(projectedDir, tracefs.DataFile, tracefs.StatusFile), contain())
	},
	"container, no files": func() error { return errors.Join(project(projectedDir), contain()) },
	"pod":                 func() error { return errors.Join(projectDirectory(), contain()) },
	"AppArmor":            func() error { return confine("") },
	"AppArmor, projected": func() error {
		return errors.Join(project(projectedDir, tracefs.DataFile, tracefs.StatusFile), confine(projectedDir))
	},
}

// projectedDir is where setups put single files of tracefs.
const projectedDir = "/run/uevents-test"

// private keeps what is mounted from now on in this namespace.
func private() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") }

// project mounts single files of tracefs in a directory and unmounts the whole.
func project(dir string, files ...string) error {
	errs := []error{private(), os.MkdirAll(dir, 0o755), syscall.Mount("tmpfs", dir, "tmpfs", 0, "")}
	for _, file := range files {
		target := filepath.Join(dir, file)
		errs = append(errs, os.WriteFile(target, nil, 0o600), syscall.Mount(filepath.Join(tracefs.DefaultDir, file), target, "", syscall.MS_BIND, ""))
	}
	return errors.Join(append(errs, unmountAll())...)
}

// projectDirectory does what a unit does on a node, in a directory that the pod then gets as a volume.
func projectDirectory() error {
	node, volume := projectedDir+"/node", projectedDir+"/pod"
	errs := []error{private(), os.MkdirAll(projectedDir, 0o755), syscall.Mount("tmpfs", projectedDir, "tmpfs", 0, ""), os.Mkdir(node, 0o755), os.Mkdir(volume, 0o755)}
	for _, file := range []string{tracefs.DataFile, tracefs.StatusFile} {
		errs = append(errs, os.WriteFile(filepath.Join(node, file), nil, 0o600),
			syscall.Mount(filepath.Join(tracefs.DefaultDir, file), filepath.Join(node, file), "", syscall.MS_BIND, ""))
	}
	errs = append(errs, syscall.Mount(node, volume, "", syscall.MS_BIND|syscall.MS_REC, ""))
	return errors.Join(append(errs, unmountAll())...)
}

// contain starts the program again as a user without capabilities who can get none, and who has one more group, with a root
// file system that is read-only.
func contain() error {
	const noNewPrivs = 38  // PR_SET_NO_NEW_PRIVS
	runtime.LockOSThread() // which it belongs to
	errs := []error{syscall.Mount("", "/", "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		errs = append(errs, errno)
	}
	errs = append(errs, syscall.Setgroups([]int{nobody}), syscall.Setgid(1000), syscall.Setuid(1000), os.Setenv(childSetup, ""))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return syscall.Exec(os.Args[0], os.Args, os.Environ())
}

func unmountAll() error {
	return unmount("/sys/kernel/debug/tracing", "/sys/kernel/debug", tracefs.DefaultDir)
}

func unmount(dirs ...string) error {
	var errs []error
	for _, dir := range dirs {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
			errs = append(errs, err) // EINVAL: not mounted
		}
	}
	return errors.Join(errs...)
}

// confine starts the program again under the AppArmor profile that TestAppArmorProfile loaded.
func confine(dataFile string) error {
	runtime.LockOSThread() // the profile is asked for by a thread
	if err := os.WriteFile("/proc/thread-self/attr/apparmor/exec", []byte("exec "+appArmorProfile), 0); err != nil {
		return err
	}
	return errors.Join(os.Setenv(childSetup, ""), os.Setenv(uevents.EnvDataFile, dataFile), syscall.Exec(os.Args[0], os.Args, os.Environ()))
}

// child is a running TestChild.
type child struct {
	t     *testing.T
	event string
	cmd   *exec.Cmd
	in    io.Writer
	out   *bufio.Scanner
}

type childOptions struct {
	setup string
	task  string
	attr  *syscall.SysProcAttr // nil: root, in a mount namespace of its own
	env   []string
	files []*os.File
}

func startChild(t *testing.T, o childOptions) *child {
	t.Helper()
	// Where this binary is, nobody may not go.
	dir, err := os.MkdirTemp("/tmp", "uevents") //nolint:usetesting // Only root may go where t.TempDir is.
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	exe := filepath.Join(dir, "child")
	copyFile(t, exe)

	c := &child{t: t, event: newName() + "_child", cmd: exec.Command(exe, "-test.run=^TestChild$")}
	c.cmd.Dir = dir
	c.cmd.Env = append(append(os.Environ(), childEvent+"="+c.event, childSetup+"="+o.setup, childTask+"="+o.task), o.env...)
	c.cmd.ExtraFiles = o.files
	if c.cmd.SysProcAttr = o.attr; o.attr == nil {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	c.cmd.Stderr = os.Stderr
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewScanner(stdout)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	return c
}

func copyFile(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	src, err := os.Open(self)
	require.NoError(t, err)
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(dst, src)
	require.NoError(t, errors.Join(err, dst.Close()))
}

// says returns what the child says next.
func (c *child) says() string {
	c.t.Helper()
	var said []string
	for c.out.Scan() {
		if text, ok := strings.CutPrefix(c.out.Text(), "child: "); ok {
			return text
		}
		said = append(said, c.out.Text())
	}
	require.Fail(c.t, "the child said nothing", "but %q", said)
	return ""
}

// tell lets the child go on.
func (c *child) tell() {
	c.t.Helper()
	_, err := io.WriteString(c.in, "go\n")
	require.NoError(c.t, err)
}

// mustWork attaches to the child's event and expects its record.
func (c *child) mustWork(fs *tracefs.Dir) {
	c.t.Helper()
	require.Equal(c.t, "ok", c.says())
	i := kerneltest.NewInstance(c.t, fs, 64)
	i.Attach(c.event)
	c.tell() // not before: the bit is set before records are taken
	c.mustWrite(i)
	i.Detach()
}

// mustWrite expects the child's record.
func (c *child) mustWrite(i *kerneltest.Instance) kerneltest.Record {
	c.t.Helper()
	require.Equal(c.t, "wrote", c.says())
	records := i.Records()
	require.Len(c.t, records, 1)
	assert.Equal(c.t, "from the child", string(records[0].Payload[:len("from the child")]))
	return records[0]
}

// mustFail expects an error with these texts.
func (c *child) mustFail(texts ...string) {
	c.t.Helper()
	said := c.says()
	for _, text := range texts {
		assert.Contains(c.t, said, text)
	}
}

// tasks are what a child does between its input and its record.
var tasks = map[string]func(c *program){
	"remount":                (*program).remount,
	"execute itself":         (*program).executeItself,
	"register until refused": (*program).registerUntilRefused,
}

// inheritsNothing fails if the process has a descriptor or a mapping of user_events before it has opened any.
func inheritsNothing() error {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range list {
		if file, _ := os.Readlink("/proc/self/fd/" + entry.Name()); strings.Contains(file, "user_events") {
			return fmt.Errorf("descriptor %s of %s is inherited", entry.Name(), file)
		}
	}
	return nil
}

// remount unmounts tracefs while the provider is open, and mounts it again.
func (c *program) remount() {
	require.NoError(c.t, unmountAll())
	assert.True(c.t, c.ev.Enabled())
	mustWrite(c.t, c.ev, buffer("without tracefs"))
	late := mustRegister(c.t, c.p, c.ev.Name()+"_late", nil)
	assert.NoError(c.t, late.Close())
	other, err := uevents.Open(nil)
	require.ErrorContains(c.t, err, "not mounted")
	assert.NotErrorIs(c.t, err, uevents.ErrNotSupported, "it may be mounted later")
	assert.NoError(c.t, other.Close())

	require.NoError(c.t, syscall.Mount("tracefs", tracefs.DefaultDir, "tracefs", 0, ""))
	other, err = uevents.Open(nil)
	require.NoError(c.t, err)
	mustWrite(c.t, mustRegister(c.t, other, c.ev.Name(), nil), buffer("mounted again"))
	assert.NoError(c.t, other.Close())
	c.say("remounted")
	c.told()
}

// executeItself replaces the program by a new run of itself, which registers the same event.
func (c *program) executeItself() {
	require.NoError(c.t, os.Setenv(childTask, ""))
	require.NoError(c.t, os.Setenv(childSetup, "executed"))
	require.NoError(c.t, syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
}

// registerUntilRefused registers events while the memory of the process is limited, which the caller of startChild does
// between two lines of input.
func (c *program) registerUntilRefused() {
	// The program has the memory that it needs by itself, and keeps it.
	debug.SetGCPercent(-1)
	func() {
		touched := make([]byte, 64<<20)
		for i := 0; i < len(touched); i += 4096 {
			touched[i] = 1
		}
	}()
	debug.FreeOSMemory()
	c.say("ready")
	c.told()
	var events []*uevents.Event
	var err error
	for n := 0; err == nil && n < 20_000; n++ {
		var ev *uevents.Event
		if ev, err = c.p.Register(tracepoint.Declaration{Name: fmt.Sprintf("%s_%d", c.ev.Name(), n)}, nil); err == nil {
			events = append(events, ev)
		} else if ev.Enabled() {
			err = errors.New("an event that was not registered is enabled")
		}
	}
	c.say(fmt.Sprintf("%t after some: %t, %v", errors.Is(err, syscall.ENOMEM), len(events) > 0, err))
	c.told()
	again := mustRegister(c.t, c.p, c.ev.Name()+"_again", nil)
	assert.NoError(c.t, again.Close())
	for _, ev := range events {
		assert.NoError(c.t, ev.Close())
	}
	c.say("registered")
	c.told()
}
