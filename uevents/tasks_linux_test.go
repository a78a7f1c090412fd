package uevents_test

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

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
