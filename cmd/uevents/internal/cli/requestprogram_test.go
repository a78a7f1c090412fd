package cli

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/sloghandler"
)

// requestFails reports whether a request of requestProgram fails.
func requestFails(n int) bool { return n%1000 == 999 }

// requestProgram, given a name, a number and the arguments of signaled, serves so many requests, 5,000 a second and a hundred at a time: each
// has three debug records. Of a thousand one fails, unless a fifth argument says that another program tells.
func requestProgram(args []string) error {
	h, err := sloghandler.New(args[0], nil)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if err := signaled(args[2], args[3]); err != nil {
		return err
	}
	l := slog.New(h)
	const batch = 100
	for first := 0; first < n; first += batch {
		begin := time.Now()
		for step := range 3 {
			for i := first; i < min(n, first+batch); i++ {
				l.Debug("step", "request_id", fmt.Sprint("r", i), "step", step)
			}
		}
		for i := first; i < min(n, first+batch); i++ {
			if len(args) == 4 && requestFails(i) {
				l.Error("failed", "request_id", fmt.Sprint("r", i), "step", 3)
			} else {
				l.Info("served", "request_id", fmt.Sprint("r", i), "step", 3)
			}
		}
		time.Sleep(time.Until(begin.Add(20 * time.Millisecond))) //nolint:forbidigo // pacing of the load
	}
	return h.Close()
}
