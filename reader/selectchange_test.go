package reader

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/record"
)

// slow is a machine whose Attach and Detach can wait.
type slow struct {
	*machine
	attach func(name string, o *perf.AttachOptions) // called before
	detach func(name string)
}

type slowSource struct {
	attached
	s    *slow
	name string
}

func (s *slow) Attach(name string, o *perf.AttachOptions) (attached, error) {
	if s.attach != nil {
		s.attach(name, o)
	}
	a, err := s.machine.Attach(name, o)
	if err != nil {
		return nil, err
	}
	return &slowSource{a, s, name}, nil
}

func (a *slowSource) Detach() error {
	if a.s.detach != nil {
		a.s.detach(a.name)
	}
	return a.attached.Detach()
}

func (m *machine) filters() (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sources {
		list = append(list, s.o.Filter)
	}
	return list
}

// TestSelectDivideStays: an event is not attached a second time for a selection that is gone when the kernel has done so.
func TestSelectDivideStays(t *testing.T) {
	m := newMachine(t)
	m.logger(m.program(), "myapp")
	high := Selection{Events: []string{"myapp_warn"}, Where: condition("level >= warn2")}
	r := m.mustOpen(Options{Selection: high})
	attaching, goOn := make(chan bool), make(chan bool)
	r.kernel = &slow{machine: m, attach: func(string, *perf.AttachOptions) { close(attaching); <-goOn }}
	require.NoError(t, r.Select(Selection{Events: []string{"myapp_warn"}}))
	<-attaching
	require.NoError(t, r.Select(high))
	close(goOn)
	r.background.Wait()
	assert.Equal(t, []string{"level >= 5 && level <= 7"}, m.filters(), "no program makes records that nothing selects")
}

// TestSelectCopiesByIndex: a selection that stays, and has another place in the list, takes a declared record once.
func TestSelectCopiesByIndex(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	_ = l
	other, mine := Selection{Events: []string{"nothing"}}, Selection{Events: []string{"myapp"}}
	r := m.mustOpen(Options{Selection: other})
	require.NoError(t, r.Select(other, mine))
	m.look()
	declared(l)
	var got []string
	rec := next(t, r)
	got = append(got, rec)
	require.NoError(t, r.Select(mine)) // the other has ended
	got = append(got, m.read(r)...)
	assert.Len(t, got, 1, "%q", got)
	assert.EqualValues(t, 1, r.State().Copies)
}

// TestSelectNeverMatch: an error leaves the counts as they were.
func TestSelectNeverMatch(t *testing.T) {
	m := newMachine(t)
	m.logger(m.program(), "myapp")
	m.addEvent("sched", "sched_switch", "name: sched_switch\nID: 9\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\tfield:int prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n")
	m.addEvent("sched", "sched_never", "name: sched_never\nID: 9\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\tfield:int other;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n")
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"sched:*"}, Where: condition("prev_pid > 0")}})
	before := r.State()
	m.refuseToFollow = errno.EMFILE
	require.Error(t, r.Select(Selection{Events: []string{"myapp"}}))
	assert.Equal(t, before, r.State())
}

// TestSelectNoProcesses: a selection of no process selects none, also beside one of all.
func TestSelectNoProcesses(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	none := Selection{Events: []string{"myapp_info"}, Processes: []int{}}
	r := m.mustOpen(Options{Selection: none})
	require.NoError(t, r.Select(none, Selection{Events: []string{"myapp_warn"}}))
	m.look()
	l.Info("of no process")
	l.Warn("warn")
	assert.Equal(t, []string{"WARN warn"}, m.read(r))
}

// TestSelectOtherSystemTwice: an event of another system that is dropped and selected again is attached once.
func TestSelectOtherSystemTwice(t *testing.T) {
	m := newMachine(t)
	m.logger(m.program(), "myapp")
	m.addEvent("sched", "sched_switch", "name: sched_switch\nID: 9\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\tfield:int prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n")
	other := Selection{Events: []string{"sched:sched_switch"}}
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"myapp_info"}}})
	goOn := make(chan bool)
	r.kernel = &slow{machine: m, detach: func(string) { <-goOn }}
	require.NoError(t, r.Select(other))
	require.NoError(t, r.Select(Selection{Events: []string{"myapp_info"}}))
	require.NoError(t, r.Select(other))
	n := 0
	for _, name := range m.attached() {
		if name == "sched:sched_switch" {
			n++
		}
	}
	close(goOn)
	assert.LessOrEqual(t, n, 1, "each record is recorded twice, and both are selected")
}

func declared(l *slog.Logger) { l.Info("request", "status", 200) }

func next(t *testing.T, r *Reader) string {
	t.Helper()
	var rec record.Record
	r.SetDeadline(time.Now().Add(time.Second))
	require.NoError(t, r.Next(&rec))
	return rec.Severity.String() + " " + rec.Message + rec.EventName
}

// TestSelectCopiesOfAdded: a selection that is added between a declared record and its copy takes the record once.
func TestSelectCopiesOfAdded(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	mine := Selection{Events: []string{"myapp"}}
	r := m.mustOpen(Options{Selection: mine})
	declared(l)
	got := []string{next(t, r)}
	require.NoError(t, r.Select(mine, Selection{Events: []string{"myapp"}, Where: condition("status > 100")}))
	got = append(got, m.read(r)...)
	assert.Len(t, got, 1, "%q", got)
}

// excluding is a reader of processes 7 and 8, whose records are unread when the selection changes.
func excluding(t *testing.T, first Selection) (m *machine, r *Reader, log func(pid int32, message string)) {
	m = newMachine(t)
	l := m.logger(m.program(), "myapp")
	for _, pid := range []int32{7, 8} {
		fakeProc{t, m.proc}.add(pid, "other", "/usr/bin/other", "/")
	}
	r = m.mustOpen(Options{Selection: first})
	return m, r, func(pid int32, message string) {
		m.pid = pid
		l.Info(message)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.collect()
	}
}

// TestSelectProcessesOfUnread: the records of a detached event are read that were written before, of the processes that were selected.
func TestSelectProcessesOfUnread(t *testing.T) {
	for _, processes := range [][]int{{8}, nil} {
		m, r, log := excluding(t, Selection{Events: []string{"myapp_info"}, Processes: []int{7}})
		log(8, "of no selection")
		log(7, "before")
		require.NoError(t, r.Select(Selection{Events: []string{"myapp_warn"}, Processes: processes}))
		assert.Equal(t, []string{"INFO before"}, m.read(r), processes)
	}
}
