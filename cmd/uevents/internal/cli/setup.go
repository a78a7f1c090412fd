package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/perfaccess"
	"github.com/userevents/userevents-go/internal/tracefs"
)

func newSetupCommand(e *env) *cobra.Command {
	var (
		format, binary string
		apply          bool
	)
	cmd := &cobra.Command{
		Use:   "setup GROUP",
		Short: "Let a group read events without root",
		Long: `Prints, and with --apply runs, what lets the members of a group read all events of the
machine, and their programs register events, without root:

  - uevents belongs to the group, only its members may run it, and it has CAP_PERFMON:
    the permission to read records, which the kernel gives to programs and not to groups.
  - The files of tracefs belong to the group: names and fields of events are there.
  - Where kernel.perf_event_paranoid is above 2 and the kernel therefore asks for
    CAP_SYS_ADMIN, as those of Debian and Ubuntu do, it becomes 2, the default of Linux:
    all users may then measure their own processes. Records still take CAP_PERFMON.

Each line says whether it survives a restart. What does not is done again at each start
by a unit of systemd. The group must be trusted: it sees what all programs log.
Events belong to one group: setup does not take them from another.`,
		Example: `  uevents setup tracers
  sudo uevents setup tracers --apply
  sudo gpasswd -a alice tracers    # and alice logs in again`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !groupName.MatchString(args[0]) {
				return usageError{fmt.Errorf("%q is no name of a group", args[0])}
			}
			dir, err := e.dir()
			if err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if self, err = filepath.EvalSymlinks(self); err != nil {
				return err
			}
			_, err = os.Stat("/run/systemd/system") // sd_booted(3)
			plan := newPlan(args[0], self, binary, dir, modeFor(dir), !perfaccess.Read().PerfmonSuffices(), err == nil)
			plan.Replaces = otherGroup(args[0], dir)
			if plan.Replaces != "" && apply {
				return hintError{
					errors.New(plan.loss(dir.Path())),
					"uevents setup " + plan.Replaces + "; or take them from it first: sudo mount -o remount,gid=0 " + shellWord(dir.Path()),
				}
			}
			if apply {
				if err := plan.apply(); err != nil {
					return err
				}
			}
			if format == "json" {
				return writeJSON(e.out, plan)
			}
			return plan.print(e)
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "do it, as root")
	cmd.Flags().StringVar(&binary, "install", "/usr/local/bin/uevents", "`PATH` that uevents is copied to")
	outputFlag(cmd, &format, "text", "json")
	return cmd
}

// groupName matches the names that groupadd(8) accepts on all distributions: they need no quotes in commands and units.
var groupName = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)

type setupPlan struct {
	Group string      `json:"group"`
	Steps []setupStep `json:"steps"`
	// Replaces is the group that loses its permissions: a file has one group.
	Replaces string `json:"replaces,omitempty"`
}

func (p *setupPlan) loss(dir string) string {
	return fmt.Sprintf("files of %s belong to the group %s, which would lose its permissions", dir, p.Replaces)
}

// setupStep is one step: a command, or a file to write.
type setupStep struct {
	Command []string `json:"command,omitempty"`
	File    string   `json:"file,omitempty"`
	Content string   `json:"content,omitempty"`
	// Lasts tells how long the step remains in effect, or when to repeat it.
	Lasts   string `json:"lasts"`
	Applied bool   `json:"applied"`
}

const (
	survives     = "survives a restart"
	untilRestart = "until the next restart"
	unitFile     = "/etc/systemd/system/uevents-tracefs.service"
)

// newPlan returns the steps that let a group use a tracefs, of the given mode, through the program, which is copied to
// binary. strict is that kernel.perf_event_paranoid makes the kernel ask for more than CAP_PERFMON.
func newPlan(group, self, binary string, dir *tracefs.Dir, mode fs.FileMode, strict, systemd bool) *setupPlan {
	p := &setupPlan{Group: group}
	add := func(lasts string, command ...string) {
		p.Steps = append(p.Steps, setupStep{Command: command, Lasts: lasts})
	}
	add(survives, "groupadd", "-f", group)
	if self == binary {
		add(survives, "chown", "root:"+group, binary)
		add(survives, "chmod", "0750", binary)
	} else {
		add(survives+"; again after an update", "install", "-o", "root", "-g", group, "-m", "0750", self, binary)
	}
	add(survives+"; again after an update", "setcap", "cap_perfmon=ep", binary)
	if strict {
		p.Steps = append(p.Steps, setupStep{File: perfaccess.SysctlFile, Content: perfaccess.SysctlContent, Lasts: survives})
		add(survives+", with that file", "sysctl", "-p", perfaccess.SysctlFile)
	}
	var unit []string
	for _, command := range [][]string{
		{"mount", "-o", fmt.Sprintf("%s%s,mode=%o", remountGID, shellGID(group), mode), dir.Path()},
		{"chmod", "g+w", dir.Path(tracefs.DataFile)},
	} {
		if !systemd {
			add(untilRestart+": without systemd, have it run at each start", command...)
			continue
		}
		add(untilRestart, command...)
		var words []string
		for _, word := range command {
			words = append(words, unitWord(strings.ReplaceAll(word, remountGID+shellGID(group), remountGID+unknownGID)))
		}
		unit = append(unit, "ExecStart="+strings.Join(words, " "))
	}
	if systemd {
		content := "# Written by uevents setup " + group + ".\n[Unit]\nDescription=Let group " + group + " read user_events\n" +
			"After=sys-kernel-tracing.mount\nRequires=sys-kernel-tracing.mount\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\n" +
			strings.Join(unit, "\n") + "\n\n[Install]\nWantedBy=multi-user.target\n"
		p.Steps = append(p.Steps, setupStep{File: unitFile, Content: content, Lasts: survives + "; does the two lines above at each start"})
		add(survives, "systemctl", "enable", filepath.Base(unitFile))
	}
	p.fillIn()
	return p
}

// remountGID begins the options of mount that have the number of the group.
const remountGID = "remount,gid="

// unknownGID is the number of the group in the unit while the group does not exist: systemd expands no commands.
const unknownGID = "NUMBER_OF_THE_GROUP"

// shellGID is a shell expression for the number of a group that does not exist yet. The kernel takes no name.
func shellGID(group string) string { return "$(getent group " + group + " | cut -d: -f3)" }

// fillIn sets the number of the group in the steps, once the group exists.
func (p *setupPlan) fillIn() {
	g, err := user.LookupGroup(p.Group)
	if err != nil {
		return
	}
	number := strings.NewReplacer(remountGID+shellGID(p.Group), remountGID+g.Gid, remountGID+unknownGID, remountGID+g.Gid)
	for n := range p.Steps {
		s := &p.Steps[n]
		for i, word := range s.Command {
			if strings.HasPrefix(word, remountGID) { // other words may be paths
				s.Command[i] = number.Replace(word)
			}
		}
		s.Content = number.Replace(s.Content)
	}
}

func (p *setupPlan) commandLine(s *setupStep) string {
	var words []string
	for _, word := range s.Command {
		if !strings.HasPrefix(word, remountGID+shellGID(p.Group)) { // which is for the shell
			word = shellWord(word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// plainWord is what neither a shell nor systemd takes for anything but a word.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@+=:,./-]+$`)

func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// unitWord quotes a word of a command for systemd: systemd.service(5), "Command lines".
func unitWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return strings.NewReplacer("%", "%%", "$", "$$").Replace(strconv.Quote(s))
}

func (p *setupPlan) apply() error {
	if os.Geteuid() != 0 {
		return hintError{fmt.Errorf("setup: user %d: %w", os.Geteuid(), fs.ErrPermission), "sudo uevents setup " + p.Group + " --apply"}
	}
	for n := range p.Steps {
		s := &p.Steps[n]
		if s.File != "" {
			if err := os.WriteFile(s.File, []byte(s.Content), 0o644); err != nil {
				return err
			}
		} else if out, err := exec.Command(s.Command[0], s.Command[1:]...).CombinedOutput(); err != nil {
			err = fmt.Errorf("%s: %w", strings.Join(s.Command, " "), err)
			if text := strings.TrimSpace(string(out)); text != "" {
				err = fmt.Errorf("%w: %s", err, text)
			}
			if errors.Is(err, exec.ErrNotFound) {
				err = hintError{err, "install " + s.Command[0] + ", and repeat it: steps that are done change nothing (Debian: passwd, libcap2-bin, procps)"}
			}
			return err
		}
		s.Applied = true
		p.fillIn() // after the first step, the group exists
	}
	return nil
}

func (p *setupPlan) print(e *env) error {
	table := output.Table{}
	var files strings.Builder
	applied := true
	for _, s := range p.Steps {
		applied = applied && s.Applied
		what := p.commandLine(&s)
		if s.File != "" {
			what = "write " + s.File
			fmt.Fprintf(&files, "\n%s:\n", s.File)
			for line := range strings.Lines(s.Content) {
				files.WriteString(strings.TrimRight("  "+line, " \n") + "\n")
			}
		}
		table.Add(what, "# "+s.Lasts)
	}
	if _, err := io.WriteString(e.out, table.String()); err != nil {
		return err
	}
	fmt.Fprint(e.out, files.String())
	if p.Replaces != "" {
		e.say("! %s", p.loss("tracefs"))
	}
	done := "not done yet: sudo uevents setup " + p.Group + " --apply"
	if applied {
		done = "done; add users with: gpasswd -a USER " + p.Group + ", and they log in again"
	}
	_, err := fmt.Fprintf(e.out, "\n%s\n", done)
	return err
}

// otherGroup returns the name of another group that tracefs was opened to, or "".
func otherGroup(group string, dir *tracefs.Dir) string {
	for _, path := range []string{dir.Path(), dir.Path("events"), dir.Path(tracefs.StatusFile), dir.Path(tracefs.DataFile)} {
		st, err := os.Stat(path)
		if err != nil {
			continue // --apply, as root, sees all of them
		}
		gid, ok := groupOf(st)
		if !ok || gid == "0" {
			continue
		}
		if g, err := user.LookupGroupId(gid); err != nil {
			return gid
		} else if g.Name != group {
			return g.Name
		}
	}
	return ""
}

// modeFor returns the mode that lets a group use tracefs, and takes no permission from others.
func modeFor(dir *tracefs.Dir) fs.FileMode {
	const mode = 0o750
	if st, err := os.Stat(dir.Path()); err == nil {
		return st.Mode().Perm() | mode
	}
	return mode
}
