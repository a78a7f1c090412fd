package output

import (
	"encoding/hex"
	"io"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// raw writes the undecoded payload of each record in hexadecimal, after the name of its event:
//
//	20:41:07.318 user_events:myapp_debug myapp[812] cpu 3 0100000048...
//
// Records in shared memory have no CPU, but -.
type raw struct {
	w io.Writer
	b []byte
	c clock
}

func (r *raw) Write(ev *reader.Event) error {
	b := r.c.append(r.b[:0], ev.Time, ev.Monotonic)
	b = append(b, ' ')
	b = appendText(b, ev.System)
	b = append(b, ':')
	b = appendText(b, ev.Name)
	b = append(b, ' ')
	b = AppendProcess(b, process(ev).Comm, ev.PID)
	b = append(b, " cpu "...)
	if ev.CPU < 0 {
		b = append(b, '-')
	} else {
		b = strconv.AppendInt(b, int64(ev.CPU), 10)
	}
	b = append(b, ' ')
	b = hex.AppendEncode(b, ev.Raw[min(len(ev.Raw), tracepoint.CommonSize):])
	r.b = append(b, '\n')
	_, err := r.w.Write(r.b)
	return err
}

func (r *raw) Lost(string, uint64, time.Time) error { return nil }

func (r *raw) Close() error { return nil }
