package cli

import (
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/driver"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventheader"
	_ "github.com/userevents/userevents-go/internal/memory/private"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

func TestMain(m *testing.M) {
	oneRequest = time.Hour // so that no script depends on the time
	commands := map[string]func(){
		"programs":       program(programs),
		"uevents":        func() { os.Exit(Main()) },
		"seen":           program(seen),
		"logprogram":     program(logProgram),
		"writeprogram":   program(writeProgram),
		"manyprogram":    program(manyProgram),
		"stateprogram":   program(stateProgram),
		"headerprogram":  program(headerProgram),
		"webserver":      program(webServer),
		webshop:          program(shopMain),
		payments:         program(shopMain),
		"requestprogram": program(requestProgram),
		"otelprogram":    program(otelProgram),
		"hangprogram":    program(hangProgram),
		"floodprogram":   program(floodProgram),
		"expiring":       func() { expiryGrace = 0; os.Exit(Main()) },
		"pprof":          program(func([]string) error { return driver.PProf(&driver.Options{}) }), // what go tool pprof is made of
	}
	maps.Copy(commands, rootCommands)
	testscript.Main(m, commands)
}

// request is a declared record.
type request struct {
	Route   string        `uevent:"route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
}

// programs registers the events of several kinds of programs, creates the file of its argument, and logs until it gets
// a signal.
func programs(args []string) error {
	p, err := uevents.Open(nil)
	must(err)
	defer p.Close()
	typed, err := sloghandler.New("myapp", &sloghandler.Options{
		Provider: p, Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("request", nil)},
	})
	must(err)
	for level := eventheader.LevelVerbose; level >= eventheader.LevelError; level-- {
		d, err := eventheader.Name{Provider: "billing", Level: level, Keyword: 2}.Declaration()
		must(err)
		_, err = p.Register(d, nil)
		must(err)
	}
	_, err = p.Register(tracepoint.MustParse("sensor u32 id; s64 value; struct raw data 16; char[8] unit"), nil)
	must(err)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	must(os.WriteFile(args[0], nil, 0o600))
	logger := slog.New(typed)
	for n := 0; ; n++ {
		select {
		case <-interrupted:
			return nil
		case <-time.After(2 * time.Millisecond): //nolint:forbidigo // the load: 1,000 records a second
		}
		route := []string{"/users/{id}", "/login"}[n%2]
		logger.Info("request", "route", route, "status", 200+300*(n%2), "latency", time.Duration(1+n%2)*time.Millisecond)
		logger.Warn("slow", "route", route)
	}
}

// TestScripts: command lines with all their output. They need no kernel with user_events: they read testdata/tracefs,
// files copied from a real one.
func TestScripts(t *testing.T) {
	testscale.HostOnly(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			return os.CopyFS(env.WorkDir+"/tracefs", os.DirFS("testdata/tracefs"))
		},
	})
}

// scripts lists the scripts of directories in testdata. Those in both need programs with events, in the kernel or in shared memory.
func scripts(t *testing.T, dirs ...string) (paths []string) {
	t.Helper()
	for _, dir := range dirs {
		list, err := filepath.Glob("testdata/" + dir + "/*.txt")
		require.NoError(t, err)
		require.NotEmpty(t, list)
		paths = append(paths, list...)
	}
	return paths
}

var (
	scriptTime   = regexp.MustCompile(`(\bsleep|--duration|\btimeout)[ =](\d[\d.]*(?:ms|[smh])?)`)
	pollInterval = regexp.MustCompile(`\b(until|while) .*; do sleep 0\.\d+; done\b`)
)

// shortTimes returns the lines of a script that depend on a time: sleeps, durations below a minute, and guards below ten. A loop
// that waits for a condition may sleep in between. The line above may have the reason: # time: REASON.
func shortTimes(script string) (lines []string) {
	before := ""
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		for _, m := range scriptTime.FindAllStringSubmatch(line, -1) {
			long, err := time.ParseDuration(m[2])
			if err != nil { // a number of seconds
				long, err = time.ParseDuration(m[2] + "s")
			}
			least := 10 * time.Minute
			if m[1] == "--duration" {
				least = time.Minute
			}
			if err == nil && (long >= least || m[1] == "--duration" && long == 0) || m[1] == "sleep" && pollInterval.MatchString(line) {
				continue
			}
			if reason, ok := strings.CutPrefix(before, "# time: "); !ok || reason == "" {
				lines = append(lines, line)
			}
		}
		before = line
	}
	return lines
}

// TestScriptTimes: no script of the kernel tests fails, or shows nothing, because a machine is slow.
func TestScriptTimes(t *testing.T) {
	for _, path := range scripts(t, "kernel", "both", "memory", "users") {
		script, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Empty(t, shortTimes(string(script)), "%s: wait for a line (waitfor, seen), or write # time: REASON above", path)
	}
}
