package uevents_test

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// envBubble makes TestBubble run in a process that has registered nothing yet, and whose first registration is "inside" a bubble
// or "outside".
const envBubble = "USER_EVENTS_TEST_BUBBLE"

// TestBubble: programs register, write and close in a bubble of testing/synctest, whose time passes only while all
// its goroutines wait. The first registration of a process is one of a bubble or not, and later ones are in others and outside.
func TestBubble(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		if os.Getenv(envBubble) == "" {
			_, name, _ := strings.Cut(t.Name(), "/")
			for _, first := range []string{"inside", "outside"} {
				cmd := exec.Command(os.Args[0], "-test.run=^TestBubble$/^"+name+"$", "-test.v")
				cmd.Env = append(os.Environ(), envBubble+"="+first, "GOTRACEBACK=system") // which makes stack traces longer
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
				require.Contains(t, string(out), "--- PASS: "+t.Name())
				t.Logf("%s", out)
			}
		}
		if os.Getenv(envBubble) == "outside" {
			p := w.provider(t)
			ev := mustRegister(t, p, newName(), nil)
			outside := w.attach(t, ueventstest.Ftrace, ev.Name())
			synctest.Test(t, func(*testing.T) {
				began := time.Now()
				time.Sleep(time.Hour)                         //nolint:forbidigo // in a synctest bubble
				assert.Equal(t, time.Hour, time.Since(began)) //nolint:forbidigo // in a synctest bubble
				mustWrite(t, ev, buffer("1234"))
			})
			assert.Len(t, outside.payloads(t), 1)
			outside.detach()
		}
		use := func(t *testing.T) {
			p := w.provider(t)
			ev := mustRegister(t, p, newName(), nil)
			tr := w.attach(t, ueventstest.Ftrace, ev.Name())
			began := time.Now()
			time.Sleep(time.Hour)                                                  //nolint:forbidigo // in a synctest bubble
			assert.Equal(t, time.Hour, time.Since(began), "a timer of the bubble") //nolint:forbidigo // in a synctest bubble
			mustWrite(t, ev, buffer("1234"))
			assert.Len(t, tr.payloads(t), 1)
			tr.detach()
			require.NoError(t, ev.Close())
		}
		for range 2 {
			synctest.Test(t, use)
		}
		outer := w.provider(t)
		before := mustRegister(t, outer, newName(), nil)
		synctest.Test(t, func(t *testing.T) {
			use(t)
			require.NoError(t, before.Close(), "an event from outside")
			mustRegister(t, outer, newName(), nil)
		})
		require.NoError(t, outer.Close(), "events of a bubble")
	})
}

// TestBubbleConflict: the wait for the kernel to remove an event takes the kernel's time and not that of a bubble, which would
// stand still while a second goroutine waits for the first one.
func TestBubbleConflict(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		synctest.Test(t, func(t *testing.T) {
			name := newName()
			mustRegister(t, w.provider(t), name+" u8 a", nil)
			p, began := w.provider(t), time.Now()
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					_, err := p.Register(declare(t, name+" u16 a"), &uevents.EventOptions{Naming: uevents.NameExact})
					assert.ErrorIs(t, err, uevents.ErrConflict)
				})
			}
			wg.Wait()
			assert.Zero(t, time.Since(began)) //nolint:forbidigo // in a synctest bubble
		})
	})
}
