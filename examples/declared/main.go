// Command declared is a worker that declares its most frequent record: the attributes become fields of a tracepoint of its own,
// by which the kernel filters and aggregates.
//
//	go run ./examples/declared
//
// While it runs, select and add up its records from another terminal:
//
//	uevents watch worker_job_done --where 'latency_ns > 50ms'
//	uevents hist worker_job_done --by queue --sum latency_ns
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/userevents/userevents-go/sloghandler"
)

// Job has the attributes of the record "job done".
type Job struct {
	Queue   string        `uevent:"queue"`
	Retries uint8         `uevent:"retries"`
	Latency time.Duration `uevent:"latency_ns"`
}

var jobDone = sloghandler.Declare[Job]("job done", nil)

func main() {
	duration := flag.Duration("for", 10*time.Minute, "how long to work")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()

	events, err := sloghandler.New("worker", &sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{jobDone}})
	if err != nil {
		log.Print(err) // not supported or permission denied: the handler works, and is never enabled
	}
	defer events.Close()
	work(ctx, events, 100*time.Millisecond)
}

// work does a job in each interval, until ctx is done.
func work(ctx context.Context, events *sloghandler.Handler, interval time.Duration) {
	logger := slog.New(events)
	jobs := jobDone.Logger(events)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		job := Job{Queue: []string{"mail", "reports"}[n%2], Latency: time.Duration(rand.Int64N(int64(100 * time.Millisecond)))}
		if n%10 < 9 {
			// A call of slog with the declared message and attributes, as a program has it already.
			logger.InfoContext(ctx, "job done", "queue", job.Queue, "retries", job.Retries, "latency_ns", job.Latency)
		} else {
			// The declaration's logger writes the struct, for hot paths: it builds no attributes.
			job.Retries++
			jobs.Log(ctx, slog.LevelWarn, &job)
		}
	}
}
