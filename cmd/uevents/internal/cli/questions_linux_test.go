package cli

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestQuestions: there are fifty, each another one.
func TestQuestions(t *testing.T) {
	lines := map[string]bool{}
	for _, q := range slices.Concat(recordedQuestions, liveQuestions) {
		lines[q.line] = true
	}
	assert.Len(t, lines, 50)
}

// TestQuestionsRecorded: each command line answers its question from recordings of two programs, as the programs themselves know.
func TestQuestionsRecorded(t *testing.T) {
	testscale.HostOnly(t)
	r := recordShop(t, "shop.jsonl", newShopPlan(testscale.Count(100_000, 10_000)))
	for _, q := range recordedQuestions {
		t.Run(q.ask, func(t *testing.T) {
			t.Parallel()
			want := q.want(r.truth)
			require.NotEmpty(t, want)
			slices.Sort(want)
			out, errs, err := shell(r.dir, q.line, r.environment)
			assert.NoError(t, err, "%s", errs)
			assert.Regexp(t, `^([\d,]+ of [\d,]+ records selected\n?)*$`, errs)
			q.judge(t, r.file, want, out)
		})
	}
}

// recordedShop is a recording of the programs, with the environment of command lines about it.
type recordedShop struct {
	dir, file   string
	truth       *shopTruth
	environment []string
}

// judge compares the answer with the right one.
func (q *question) judge(t *testing.T, of string, want []string, output string) {
	t.Helper()
	got := q.answer(output)
	if q.same(want, got) {
		return
	}
	missing, wrong := difference(want, got), difference(got, want)
	t.Errorf("%s: %s\n%d answers, and %d expected: %d are missing, such as %.200q, and %d are wrong, such as %.200q",
		of, q.line, len(got), len(want), len(missing), missing[:min(3, len(missing))], len(wrong), wrong[:min(3, len(wrong))])
}

// difference returns what a has more than b. Both are sorted.
func difference(a, b []string) (list []string) {
	for _, s := range a {
		for len(b) > 0 && b[0] < s {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == s {
			b = b[1:]
			continue
		}
		list = append(list, s)
	}
	return list
}

// answer returns what an output says, sorted.
func (q *question) answer(output string) []string {
	got := q.got
	if got == nil {
		got = numbers
	}
	list := got(output)
	slices.Sort(list)
	return list
}

func (q *question) same(want, got []string) bool {
	if !q.near {
		return slices.Equal(want, got)
	}
	return slices.EqualFunc(want, got, func(a, b string) bool {
		return slices.EqualFunc(strings.Split(a, "|"), strings.Split(b, "|"), func(a, b string) bool {
			x, errX := time.ParseDuration(a)
			y, errY := time.ParseDuration(b)
			return a == b || errX == nil && errY == nil && math.Abs(float64(x-y)) <= 0.02*float64(x)
		})
	})
}

// shell runs a command line in a directory, as a user types it.
func shell(dir, line string, environment []string) (out, errs string, err error) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environment...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// recordShop records the programs in a file.
func recordShop(t *testing.T, file string, plan []shopRecord) recordedShop {
	t.Helper()
	dir := t.TempDir()
	for _, step := range []string{"begin", "end"} {
		require.NoError(t, create(filepath.Join(dir, step)))
	}
	line := fmt.Sprintf("uevents record --buffer 64M -o %s -- sh -c 'webshop shop %d . & payments pay %[2]d . & wait'", file, len(plan))
	_, errs, err := shell(dir, line, nil)
	require.NoError(t, err, "%s", errs)
	require.NotContains(t, errs, "lost")
	pid, err := os.ReadFile(filepath.Join(dir, payments+".pid"))
	require.NoError(t, err)
	truth := truthOf(plan)
	return recordedShop{dir, file, truth, append(truth.facts.environment(), "FILE="+file, "PAYMENTS="+string(pid))}
}

// TestQuestionsLive: each command line answers its question while the programs run. They use shared memory, or in a guest the kernel.
func TestQuestionsLive(t *testing.T) {
	memoryOrKernel(t)
	const n = 1000
	truth := truthOf(newShopPlan(n))
	for i, q := range liveQuestions {
		t.Run(q.ask, func(t *testing.T) {
			want := q.want(truth)
			require.NotEmpty(t, want)
			slices.Sort(want)
			s := startShop(t, fmt.Sprintf("%d_%d", os.Getpid(), i), n)
			s.ask(t, &q, want)
		})
	}
}

// shop is the programs while they run.
type shop struct {
	dir      string
	suffix   string // of the names of events: other tests run
	programs []*exec.Cmd
}

// startShop starts the programs. They write nothing before begin.
func startShop(t *testing.T, suffix string, n int) *shop {
	t.Helper()
	s := &shop{dir: t.TempDir(), suffix: suffix}
	for program, name := range map[string]string{webshop: "shop", payments: "pay"} {
		cmd := exec.Command(program, name+"_"+suffix, fmt.Sprint(n), s.dir)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // if the test failed: else it has ended
		s.programs = append(s.programs, cmd)
	}
	for _, program := range []string{webshop, payments} {
		require.NoError(t, exists(filepath.Join(s.dir, program+".pid")))
	}
	return s
}

// eventNames matches the names of events in command lines and outputs.
var eventNames = regexp.MustCompile(`\b(shop|pay)(_|\b)`)

// attached has what each verb prints when it reads all events that match.
var attached = map[string]string{"watch": `(?m)^attached \d+ event`, "record": `(?m)^recording \d+ event`, "top": `(?m)^\d+ \w+, \d`}

// ask runs a command line, lets the programs write, and ends it when they have.
func (s *shop) ask(t *testing.T, q *question, want []string) {
	t.Helper()
	var out, errs syncbuffer.Buffer
	cmd := exec.Command("sh", "-c", "exec "+eventNames.ReplaceAllString(q.line, "${1}_"+s.suffix+"$2"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &out, &errs
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	verb := strings.Fields(q.line)[1]
	testscale.Eventually(t, func() bool {
		if pattern, ok := attached[verb]; ok {
			return regexp.MustCompile(pattern).MatchString(out.String() + errs.String())
		}
		list, _, err := shell("", "uevents list shop_"+s.suffix, nil)
		require.NoError(t, err)
		return strings.Contains(list, ", 1 enabled")
	}, "%s: %s", q.line, &errs)
	require.NoError(t, create(filepath.Join(s.dir, "begin")))
	for _, program := range []string{webshop, payments} {
		require.NoError(t, exists(filepath.Join(s.dir, program+".done")))
	}
	answer := func() string { return strings.ReplaceAll(out.String(), "_"+s.suffix, "") }
	if verb == "top" {
		testscale.Eventually(t, func() bool { return q.same(want, q.answer(answer())) }, "%s: %s\n%q", q.line, &out, want)
	}
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended
	require.NoError(t, cmd.Wait(), "%s", &errs)
	require.NoError(t, create(filepath.Join(s.dir, "end")))
	for _, program := range s.programs {
		require.NoError(t, program.Wait())
	}
	assert.NotContains(t, errs.String(), " lost")
	said := answer()
	if verb == "record" {
		content, err := os.ReadFile(filepath.Join(s.dir, "errors.jsonl"))
		require.NoError(t, err)
		said = string(content)
	}
	if verb != "top" {
		q.judge(t, "live", want, said)
	}
}

var (
	gap      = regexp.MustCompile(` {2,}`)
	topTotal = regexp.MustCompile(`^\d+ \w+, `)
	pidOf    = regexp.MustCompile(`\[\d+\]`)
)

// rowsOf returns the rows of the last table of an output: cells with bars between, without those that other tables have not: bars, rates
// and rows of nothing.
func rowsOf(output string) (rows []string) {
	rates := false
	for line := range strings.Lines(output) {
		cells := gap.Split(strings.TrimSpace(line), -1)
		switch {
		case slices.Contains(cells, "HITS"), slices.Contains(cells, "RATE/S"):
			rows, rates = nil, slices.Contains(cells, "RATE/S")
			continue
		case topTotal.MatchString(line):
			continue
		case rates:
			cells = slices.Delete(cells, 1, 2)
		case strings.HasPrefix(cells[len(cells)-1], "#"):
			cells = cells[:len(cells)-1]
		}
		if row := strings.ReplaceAll(strings.Join(cells, "|"), ",", ""); !strings.HasSuffix(row, "|0") {
			rows = append(rows, pidOf.ReplaceAllString(row, "[PID]"))
		}
	}
	return rows
}
