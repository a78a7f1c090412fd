package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/uevents"
)

// probeName begins the name of doctor's event. Package reader knows it, too.
const probeName = "uevents_doctor_"

// probe is the event that doctor writes and reads back.
type probe struct {
	Number uint64 `uevent:"number"`
	Text   string `uevent:"text"`
}

// probes is how many records doctor writes: enough to measure the time of one.
const probes = 1000

func (x *examination) roundTrip() {
	switch {
	case x.event == nil:
		x.skip(checkRoundTrip, checkWrite)
		return
	case !x.readable:
		x.skip(checkRoundTrip, checkRead)
		return
	}
	each, err := readBack(x.event, &reader.Options{Transport: reader.TransportKernel, Tracefs: x.dir.Path()})
	if err != nil {
		x.fail(checkRoundTrip, err)
		return
	}
	x.ok(checkRoundTrip, equal(each))
}

// equal says that a round trip succeeded, and what it cost the program for a record.
func equal(each time.Duration) string {
	return fmt.Sprintf("%d records written, read and equal; a record costs its program %.1f us", probes, float64(each.Nanoseconds())/1000)
}

// memoryRoundTrip is readBack through shared memory.
func memoryRoundTrip() (each time.Duration, err error) {
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	defer func() { err = errors.Join(err, p.Close()) }()
	if err != nil {
		return 0, err
	}
	ev, err := structevent.Define[probe](p, probeName+strconv.Itoa(os.Getpid()), nil)
	if err != nil {
		return 0, err
	}
	return readBack(ev, &reader.Options{Transport: reader.TransportMemory, Selection: reader.Selection{Processes: []int{os.Getpid()}}})
}

// readBack writes records, reads them with these options, and returns the time that the writing program needs for a record.
func readBack(ev *structevent.Event[probe], o *reader.Options) (each time.Duration, err error) {
	o.Events, o.NoFollow = []string{ev.Name()}, true
	r, err := reader.Open(o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if each, err = writeProbes(ev); err != nil {
		return 0, err
	}
	if err := r.Stop(); err != nil {
		return 0, err
	}
	var event record.Record
	for i := range probes {
		if err := r.Next(&event); err != nil {
			return 0, fmt.Errorf("%d of %d records were read: %w", i, probes, err)
		}
		if err := compareProbe(i, &event); err != nil {
			return 0, err
		}
	}
	return each, nil
}

func writeProbes(ev *structevent.Event[probe]) (each time.Duration, err error) {
	if !ev.Enabled() {
		return 0, errors.New("the event is not enabled for the program after attaching to it")
	}
	each = time.Duration(math.MaxInt64)
	for i := range probes {
		// The first records warm up caches, and interrupts delay others.
		start := time.Now()
		ev.Emit(&probe{uint64(i), probeText(i)})
		each = min(each, time.Since(start))
	}
	return each, nil
}

func compareProbe(i int, event *record.Record) error {
	number, _ := event.Lookup("number")
	got, _ := event.Lookup("text")
	if number.Uint64() != uint64(i) || got.Text() != probeText(i) {
		return fmt.Errorf("record %d was read as number %d, text %q", i, number.Uint64(), got.Text())
	}
	return nil
}

func probeText(i int) string { return strings.Repeat("ä", i%8) }

// remove removes the event. Since Linux 6.5 the kernel does so itself. Some references outlive their owners for a moment.
func (x *examination) remove() {
	if x.event == nil {
		return
	}
	name := x.event.Name()
	_ = x.provider.Close() // it has no data to write
	p, err := uevents.Open(kernelOnly)
	if err == nil {
		defer p.Close()
		defer x.removeDead(p)
		err = p.Delete(name)
		for began := time.Now(); errors.Is(err, syscall.EBUSY); err = p.Delete(name) {
			if waited := time.Since(began); waited > time.Second && (waited > time.Minute || x.attached(name)) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	switch {
	case errors.Is(err, syscall.EBUSY):
		x.warn(checkRemoval, "the event "+name+" stays, since another tool is attached to it", "uevents events delete "+name+", when that tool has ended")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		x.warn(checkRemoval, "the event "+name+" may stay: "+err.Error(), "uevents events delete "+name)
	}
}

// attached reports whether a tool may be attached to an event.
func (x *examination) attached(name string) bool {
	if !x.listed {
		return true
	}
	status, err := x.dir.Status()
	return err != nil || slices.ContainsFunc(status.Events, func(ev tracefs.EventStatus) bool { return ev.Name == name && len(ev.UsedBy) > 0 })
}

// removeDead removes the events of killed doctors, which stay before Linux 6.5, and those that another tool kept. The kernel
// keeps events that are in use.
func (x *examination) removeDead(p *uevents.Provider) {
	if !x.listed {
		return
	}
	status, err := x.dir.Status()
	if err != nil {
		return // permission to read it was revoked meanwhile
	}
	for _, ev := range status.Events {
		if strings.HasPrefix(ev.Name, probeName) {
			_ = p.Delete(ev.Name)
		}
	}
}
