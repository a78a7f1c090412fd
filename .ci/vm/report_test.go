package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	passOutput = "\x16=== RUN   TestA\n\x16--- PASS: TestA (0.00s)\nPASS\n"
	skipOutput = "\x16=== RUN   TestB\n    b_test.go:1: needs root\n\x16--- SKIP: TestB (0.00s)\nPASS\n"
	benchLine  = "BenchmarkA\t1000\t5 ns/op\nPASS\n"
	bootLog    = "Linux version 6.12\n"
)

func TestVerdict(t *testing.T) {
	exit := frame{Kind: frameExit, Package: "p", Elapsed: time.Second}
	crash := frame{Kind: frameExit, Package: "p", Failure: "exit status 2"}
	say := func(text string) frame { return frame{Kind: frameOutput, Data: []byte(text)} }
	good := ending{finished: true, console: bootLog + startMark + "\n"}
	tests := []struct {
		name    string
		frames  []frame
		end     ending
		bench   bool
		ok      bool
		want    []string
		console bool
	}{
		{
			name:   "success",
			frames: []frame{say(passOutput), exit},
			end:    good,
			ok:     true,
			want:   []string{"--- PASS: TestA", "ok  \tp\t1.000s", "6.12: 1 tests passed, 0 not on this kernel"},
		},
		{
			name:   "benchmarks",
			frames: []frame{say(benchLine), exit},
			end:    good,
			bench:  true,
			ok:     true,
			want:   []string{"6.12: 1 benchmarks"},
		},
		{
			name:    "no test",
			frames:  []frame{say("PASS\n"), exit},
			end:     good,
			want:    []string{"FAIL: no test ran"},
			console: true,
		},
		{
			name:    "no package",
			end:     good,
			want:    []string{"FAIL: no test ran"},
			console: true,
		},
		{
			name:    "tests instead of benchmarks",
			frames:  []frame{say(passOutput), exit},
			end:     good,
			bench:   true,
			want:    []string{"FAIL: no benchmark ran"},
			console: true,
		},
		{
			name:   "a binary fails",
			frames: []frame{say(passOutput), crash},
			end:    good,
			want:   []string{"FAIL\tp\t0.000s\texit status 2", "FAIL: p: exit status 2"},
		},
		{
			name:    "a binary hangs",
			frames:  []frame{say(passOutput), {Kind: frameExit, Package: "p", Failure: "hung", Hung: true}},
			end:     good,
			want:    []string{"FAIL: p: hung"},
			console: true,
		},
		{
			name:   "a kernel message beside a failure",
			frames: []frame{say(passOutput), crash},
			end:    ending{finished: true, console: good.console + "user_events: hm\n"},
			want:   []string{"console log:\nuser_events: hm\n"},
		},
		{
			name:   "a skip without need",
			frames: []frame{say(passOutput), say(skipOutput), exit},
			end:    good,
			want:   []string{"FAIL: TestB (needs root): skipped"},
		},
		{
			name:    "the guest dies",
			frames:  []frame{say("\x16=== RUN   TestA\nhalf a l")},
			end:     ending{failure: "the guest stopped", console: bootLog + "Kernel panic - not syncing: x\n"},
			want:    []string{"half a l\n", "FAIL: Kernel panic - not syncing: x", "FAIL: the guest stopped"},
			console: true,
		},
		{
			name:    "the guest dies after its last test",
			frames:  []frame{say(passOutput), exit},
			end:     ending{failure: "the guest stopped", console: bootLog},
			want:    []string{"FAIL: the guest stopped"},
			console: true,
		},
		{
			name:    "the kernel complains",
			frames:  []frame{say(passOutput), exit},
			end:     ending{finished: true, console: bootLog + "BUG: x\n"},
			want:    []string{"FAIL: BUG: x"},
			console: true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			r := &report{out: &out, results: newResults(&out), kernel: "6.12"}
			for _, f := range test.frames {
				require.NoError(t, r.frame(f, accelTCG, time.Second))
			}
			err := r.verdict(test.end, test.bench, time.Second)
			if test.ok {
				require.NoError(t, err)
				assert.NotContains(t, out.String(), "FAIL")
			} else {
				require.ErrorIs(t, err, errFailed)
			}
			for _, want := range test.want {
				assert.Contains(t, out.String(), want)
			}
			assert.Equal(t, test.console, strings.Contains(out.String(), bootLog))
		})
	}
}
