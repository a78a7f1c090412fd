package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const recorded = `# about
         swapper     0 [000]    10.000000000:       sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=service.test next_pid=7 next_prio=120
    service.test     7 [000]    10.001000000: user_events:service_span_start: span_id=aa parent_span_id= kind=3 name=HTTP GET scope_name=x
    service.test     8 [001]    10.002000000:       sched:sched_switch: prev_comm=service.test prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
    service.test     7 [000]    10.003000000: user_events:service_info: span_id=bb message=user served attributes={}
    service.test     7 [000]    10.004000000: user_events:service_span: duration_ns=2000000 span_id=bb parent_span_id=aa name=GET /users/{id} status_message=
    service.test     7 [000]    10.005000000: user_events:service_span: duration_ns=4000000 span_id=aa parent_span_id= name=HTTP GET status_message=
`

func TestParseTimeline(t *testing.T) {
	got, err := parseTimeline(strings.NewReader(recorded))
	require.NoError(t, err)
	const begin, ms = 10_000_000_000, 1_000_000
	assert.Equal(t, &timeline{
		begin: begin, end: begin + 5*ms,
		spans: []span{
			{id: "aa", name: "HTTP GET", begin: begin + 1*ms, end: begin + 5*ms},
			{id: "bb", parent: "aa", name: "GET /users/{id}", begin: begin + 2*ms, end: begin + 4*ms, depth: 1},
		},
		logs: []logged{{at: begin + 3*ms, text: "INFO user served", span: "bb"}},
		threads: []thread{
			{id: 7, runs: []interval{{begin, begin + 5*ms}}}, // it runs to the end
			{id: 8, runs: []interval{{begin, begin + 2*ms}}}, // it ran before the beginning
		},
	}, got)
	picture := plotTimeline(got)
	assertXML(t, picture)
	for _, text := range []string{">GET /users/{id}<", ">INFO user served<", ">thread 8<", ">5.0 ms<"} {
		assert.Contains(t, picture, text)
	}

	lines := strings.SplitAfter(recorded, "\n")
	for text, want := range map[string]string{
		"":                          "no span",
		"nonsense":                  "line 1 is not one of perf script",
		strings.Join(lines[:3], ""): "no span",
		lines[0] + strings.Replace(lines[1], "next_pid", "pid", 1):          "line 2 is not a switch of threads",
		strings.Replace(lines[5], "duration_ns=2000000", "duration_ns=", 1): "line 1: strconv.ParseInt",
	} {
		_, err := parseTimeline(strings.NewReader(text))
		assert.ErrorContains(t, err, want, text)
	}
}
