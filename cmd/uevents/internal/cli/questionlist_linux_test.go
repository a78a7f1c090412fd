package cli

import (
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
)

// question is what an operator asks of the records of the shop.
type question struct {
	ask  string
	line string                       // the command line that answers it. The shell replaces variables: FILE, and those of shopFacts
	want func(s *shopTruth) []string  // in any order
	got  func(output string) []string // what the output says, as want has it; nil: numbers
	near bool                         // times are equal within 2 %: percentiles are, within 1.6 %, and texts have three digits
}

// shopTruth is what the programs wrote.
type shopTruth struct {
	records []shopRecord
	facts   shopFacts
}

// shopFacts are what questions name: of an order that failed, in the middle of the records.
type shopFacts struct {
	trace, caller, linked string
	order                 uint64
	user                  int64
}

func truthOf(records []shopRecord) *shopTruth {
	s := &shopTruth{records: records}
	for i := range records {
		r := &records[i]
		switch {
		case r.kind == "span_link" && s.facts.linked == "":
			s.facts.linked = r.linked
		case i < len(records)/4:
		case r.name == "charge failed" && s.facts.trace == "":
			s.facts.trace, s.facts.order = r.trace, r.get("order_id").(uint64)
		case r.request && r.trace == s.facts.trace && s.facts.user == 0:
			s.facts.user = r.int("user.id")
		}
	}
	for i := range records {
		if r := &records[i]; r.trace == s.facts.trace && r.program == webshop && r.caller != "" {
			s.facts.caller = r.caller
		}
	}
	return s
}

// environment returns the facts as variables of the shell.
func (f *shopFacts) environment() []string {
	return []string{
		"TRACE=" + f.trace, "CALLER=" + f.caller, "LINKED=" + f.linked, fmt.Sprint("ORDER=", f.order), fmt.Sprint("USER_ID=", f.user), fmt.Sprintf("ENDUSER=u-%04d", f.user),
	}
}

// those answers with the numbers of the records that meet a condition.
func those(meets func(r *shopRecord) bool) func(*shopTruth) []string {
	return lines(func(r *shopRecord) string { return strconv.Itoa(r.seq) }, meets)
}

// lines answers with a line for each record that meets a condition.
func lines(line func(r *shopRecord) string, meets func(r *shopRecord) bool) func(*shopTruth) []string {
	return func(s *shopTruth) (list []string) {
		for i := range s.records {
			if r := &s.records[i]; meets(r) {
				list = append(list, line(r))
			}
		}
		return list
	}
}

// first answers with the first n of them.
func first(n int, want func(*shopTruth) []string) func(*shopTruth) []string {
	return func(s *shopTruth) []string { return want(s)[:n] }
}

// fact is those of a condition that has to do with the facts.
func fact(meets func(f *shopFacts, r *shopRecord) bool) func(*shopTruth) []string {
	return func(s *shopTruth) []string {
		return those(func(r *shopRecord) bool { return meets(&s.facts, r) })(s)
	}
}

var numberOf = regexp.MustCompile(`(?m)(?:\bseq=|"seq":)(\d+)(?: trace=\w+)?(?: truncated=\d+)?(?:\}\})?$`)

// numbers returns the numbers of the records of an output.
func numbers(output string) (list []string) {
	for line := range strings.Lines(output) {
		if m := numberOf.FindStringSubmatch(line); m != nil {
			list = append(list, m[1])
		} else {
			list = append(list, line)
		}
	}
	return list
}

// linesOf returns the lines of an output.
func linesOf(output string) (list []string) {
	for line := range strings.Lines(output) {
		list = append(list, strings.TrimSuffix(line, "\n"))
	}
	return list
}

// recordedQuestions are answered from a recording.
var recordedQuestions = []question{
	{ask: "Which orders failed?", line: `uevents replay $FILE --where 'route == "POST /orders" and status >= 500'`, want: those(func(r *shopRecord) bool {
		return r.text("route") == "POST /orders" && r.int("status") >= 500
	})},
	{ask: "What happened in this trace, in both programs?", line: `uevents replay $FILE --where "trace_id == $TRACE"`, want: fact(func(f *shopFacts, r *shopRecord) bool {
		return r.trace == f.trace
	})},
	{ask: "I have the beginning of a trace's id, from a line of text.", line: `uevents replay $FILE --where "trace_id == $(printf %.8s $TRACE)"`, want: fact(func(f *shopFacts, r *shopRecord) bool {
		return strings.HasPrefix(r.trace, f.trace[:8])
	})},
	{ask: "Which requests were slow?", line: `uevents replay $FILE --where 'span_kind == server and duration > 500ms'`, want: those(func(r *shopRecord) bool {
		return r.kind == "span" && r.spanKind == trace.SpanKindServer && r.took > 500*time.Millisecond
	})},
	{ask: "And by the log?", line: `uevents replay $FILE --where 'latency_ns > 0.5s' -f route,status,latency_ns`, got: linesOf, want: lines(func(r *shopRecord) string {
		return fmt.Sprintf("route=%q status=%d latency_ns=%d", r.text("route"), r.int("status"), r.time("latency").Nanoseconds())
	}, func(r *shopRecord) bool { return r.request && r.time("latency") > 500*time.Millisecond })},
	{ask: "Slow queries of the table sessions?", line: `uevents replay $FILE --where 'db.table == sessions and db.took > 20ms'`, want: those(func(r *shopRecord) bool {
		return r.text("db.table") == "sessions" && r.time("db.took") > 20*time.Millisecond
	})},
	{ask: "Queries of other tables than users that failed or were slow?", line: `uevents replay $FILE --where 'db.table != users'`, want: those(func(r *shopRecord) bool {
		return r.text("db.table") != "" && r.text("db.table") != "users"
	})},
	{ask: "Who retries, and what?", line: `uevents replay $FILE --where 'has(retry.attempt)' -f program,retry.attempt,retry.of`, got: linesOf, want: lines(func(r *shopRecord) string {
		return fmt.Sprintf("%s retry.attempt=%d retry.of=%s", r.program, r.int("retry.attempt"), r.text("retry.of"))
	}, func(r *shopRecord) bool { return r.get("retry.attempt") != nil })},
	{ask: "What did this user do, whatever the record calls the user?", line: `uevents replay $FILE --where "user.id == $USER_ID or enduser.id == $ENDUSER"`, want: fact(func(f *shopFacts, r *shopRecord) bool {
		return r.int("user.id") == f.user || r.text("enduser.id") == fmt.Sprintf("u-%04d", f.user)
	})},
	{ask: "Records of this process?", line: `uevents replay $FILE --pid $PAYMENTS`, want: those(func(r *shopRecord) bool {
		return r.program == payments
	})},
	{ask: "Errors, without the upload that fails all the time?", line: `uevents replay $FILE --level error --where 'not (message == "upload failed")'`, want: those(func(r *shopRecord) bool {
		return r.kind == "log" && r.level >= slog.LevelError && r.name != "upload failed"
	})},
	{ask: "The first ten errors of the web shop?", line: `uevents replay $FILE --program webshop --level error -n 10`, want: first(10, those(func(r *shopRecord) bool {
		return r.program == webshop && r.kind == "log" && r.level >= slog.LevelError
	}))},
	{ask: "Did a worker crash?", line: `uevents replay $FILE --level fatal --where 'message =~ "panic"'`, want: those(func(r *shopRecord) bool {
		return r.level >= 12 && strings.Contains(r.name, "panic")
	})},
	{ask: "When was the index reloaded on shard 3?", line: `uevents replay $FILE --kind span_event --where 'message == "index reloaded" and shard == 3'`, want: those(func(r *shopRecord) bool {
		return r.kind == "span_event" && r.name == "index reloaded" && r.int("shard") == 3
	})},
	{ask: "Which exceptions are of the network, and in which traces?", line: `uevents replay $FILE --where 'exception.type == "*net.OpError"' -f trace_id,exception.message`, got: linesOf, want: lines(func(r *shopRecord) string {
		return fmt.Sprintf("%s exception.message=%q", r.trace, r.text("exception.message"))
	}, func(r *shopRecord) bool { return r.text("exception.type") == "*net.OpError" })},
	{ask: "Requests without a user?", line: `uevents replay $FILE --where 'has(route) and not has(user.id)'`, want: those(func(r *shopRecord) bool {
		return r.request && r.get("user.id") == nil
	})},
	{ask: "What is logged outside of requests?", line: `uevents replay $FILE --kind log --where 'not has(trace_id)'`, want: those(func(r *shopRecord) bool {
		return r.kind == "log" && r.trace == ""
	})},
	{ask: "When was the queue of orders long?", line: `uevents replay $FILE --where 'name == queue.depth and queue == orders and metric.value >= 150'`, want: those(func(r *shopRecord) bool {
		return r.name == "queue.depth" && r.text("queue") == "orders" && r.value >= 150
	})},
	{ask: "In which intervals did a request take more than 0.2 s, by the metrics?", line: `uevents replay $FILE --where 'metric.type == histogram and metric.max > 0.2'`, want: those(func(r *shopRecord) bool {
		return r.kind == "metric" && len(r.durations) > 0 && slices.Max(r.durations) > 0.2
	})},
	{ask: "Which errors are time-outs, however they are written?", line: `uevents replay $FILE --where 'err =~ "(?i)time.?out"'`, want: those(func(r *shopRecord) bool {
		return strings.Contains(r.text("err"), "timeout")
	})},
	{ask: "Where is this text, wherever it is?", line: `uevents replay $FILE --grep 'read tcp 10\.0\.0\.9'`, want: those(func(r *shopRecord) bool {
		const text = "read tcp 10.0.0.9"
		return strings.Contains(r.text("err")+r.text("exception.message")+r.failure, text) && r.kind != "span_start"
	})},
	{ask: "Debug records of large orders?", line: `uevents replay $FILE --where 'level == debug and http.route == "POST /orders" and items >= 8'`, want: those(func(r *shopRecord) bool {
		return r.level == slog.LevelDebug && r.text("http.route") == "POST /orders" && r.int("items") >= 8
	})},
	{ask: "Which tasks have a link to this trace?", line: `uevents replay $FILE --where "linked_trace_id == $LINKED"`, want: fact(func(f *shopFacts, r *shopRecord) bool {
		return r.linked == f.linked
	})},
	{ask: "Which span did the load balancer's span call?", line: `uevents replay $FILE --kind span --where "parent_span_id == $CALLER and parent_remote == true"`, want: fact(func(f *shopFacts, r *shopRecord) bool {
		return r.kind == "span" && r.caller == f.caller
	})},
	{ask: "Which records were cut?", line: `uevents replay $FILE --where 'truncated > 0'`, want: those(func(r *shopRecord) bool {
		return len(r.text("cart")) >= longCart
	})},
	{ask: "Searches with a double quote in their text?", line: `uevents replay $FILE --where "q == '12\" vinyl'"`, want: those(searched(`12" vinyl`))},
	{ask: "With a line break?", line: `uevents replay $FILE --where 'q == "two\nlines"'`, want: those(searched("two\nlines"))},
	{ask: "With a path of Windows?", line: `uevents replay $FILE --where 'q == "C:\\temp"'`, want: those(searched(`C:\temp`))},
	{ask: "In Japanese or German?", line: `uevents replay $FILE --where 'q in (手袋, "größe 42")'`, want: those(func(r *shopRecord) bool {
		return r.text("q") == "手袋" || r.text("q") == "größe 42"
	})},
	{ask: "Searches with both filters?", line: `uevents replay $FILE --where 'filters == red and filters == sale'`, want: those(func(r *shopRecord) bool {
		filters, _ := r.get("filters").([]string)
		return slices.Contains(filters, "red") && slices.Contains(filters, "sale")
	})},
	{ask: "Charges of about a hundred?", line: `uevents replay $FILE --where 'amount >= 99.5 and amount < 100.5'`, want: those(func(r *shopRecord) bool {
		amount, _ := r.get("amount").(float64)
		return amount >= 99.5 && amount < 100.5
	})},
	{ask: "Traces of gateway errors, for another tool?", line: `uevents replay $FILE --where 'status in (502, 503, 504)' -o '{{.trace_id}}'`, got: linesOf, want: lines(func(r *shopRecord) string { return r.trace }, func(r *shopRecord) bool {
		return slices.Contains([]int64{502, 503, 504}, r.int("status"))
	})},
	{ask: "Requests that clients got wrong, as JSON?", line: `uevents replay $FILE --where 'status >= 400 and status < 500' -o json -f route,status,user.id`, got: linesOf, want: lines(func(r *shopRecord) string {
		return fmt.Sprintf(`{"route":%q,"status":%d,"user.id":%d}`, r.text("route"), r.int("status"), r.int("user.id"))
	}, func(r *shopRecord) bool { return r.int("status")/100 == 4 })},
	{ask: "Spans that failed after more than 200 ms?", line: `uevents replay $FILE --where 'status == error and duration > 200ms'`, want: those(func(r *shopRecord) bool {
		return r.kind == "span" && r.failure != "" && r.took > 200*time.Millisecond
	})},
	{ask: "Failed requests from one network?", line: `uevents replay $FILE --where 'client.address ~ "10.3.*" and status == error'`, want: those(func(r *shopRecord) bool {
		return r.kind == "span" && strings.HasPrefix(r.text("client.address"), "10.3.") && r.failure != ""
	})},
	{ask: "Payments with the card 0042?", line: `uevents replay $FILE --where 'card.last4 == 0042'`, want: those(func(r *shopRecord) bool {
		return r.text("card.last4") == "0042"
	})},
	{ask: "Charges with the flag 4?", line: `uevents replay $FILE --where 'flags & 4'`, want: those(func(r *shopRecord) bool {
		return r.int("flags")&4 != 0
	})},
	{ask: "What happened to this order, whose number has 64 bits?", line: `uevents replay $FILE --where "order_id == $ORDER"`, want: fact(func(f *shopFacts, r *shopRecord) bool {
		return r.get("order_id") == f.order
	})},
	{ask: "What is in the spans of the service payments?", line: `uevents replay $FILE --kind span --where 'service == payments and currency == CHF'`, want: those(func(r *shopRecord) bool {
		return r.kind == "span" && r.program == payments && r.text("currency") == "CHF"
	})},
}

// searched holds for the records of searches for a text.
func searched(text string) func(r *shopRecord) bool {
	return func(r *shopRecord) bool { return r.name == "searched" && r.text("q") == text }
}

// liveQuestions are answered while the programs run. The events of webshop begin with shop, those of payments with pay.
var liveQuestions = []question{
	{ask: "How many responses of each status, by route?", line: `uevents hist shop_request --by route,status --duration 10m`, got: rowsOf, want: counted(func(r *shopRecord) string {
		return fmt.Sprintf("%s|%d", r.text("route"), r.int("status"))
	}, isRequest)},
	{
		ask: "Percentiles of the latency, by route?", got: rowsOf, near: true, line: `uevents hist shop_request --by route --sum latency_ns --percentiles --duration 10m`,
		want: distributed(func(r *shopRecord) string { return r.text("route") }, func(r *shopRecord) time.Duration { return r.time("latency") }, isRequest),
	},
	{ask: "The distribution of the latency?", line: `uevents hist shop_request --by latency_ns --log2 --duration 10m`, got: rowsOf, want: counted(func(r *shopRecord) string {
		power := bits.Len64(uint64(r.time("latency"))) - 1
		return durationText(float64(int64(1)<<power)) + ".." + durationText(float64(int64(2)<<power))
	}, isRequest)},
	{ask: "Which users see failures?", line: `uevents hist shop_request --by user.id --where 'status >= 500' --rows 0 --duration 10m`, got: rowsOf, want: counted(func(r *shopRecord) string {
		return strconv.FormatInt(r.int("user.id"), 10)
	}, func(r *shopRecord) bool { return r.int("status") >= 500 })},
	{
		ask: "How long do queries take, by table?", got: rowsOf, near: true, line: `uevents hist shop_span --by db.collection.name --sum duration --percentiles --where 'span_kind == client' --duration 10m`,
		want: distributed(func(r *shopRecord) string { return r.text("db.collection.name") }, func(r *shopRecord) time.Duration { return r.took }, func(r *shopRecord) bool {
			return r.kind == "span" && r.text("db.collection.name") != ""
		}),
	},
	{ask: "How many records of each level?", line: `uevents top shop_debug shop_info shop_warn shop_error --interval 200ms`, got: rowsOf, want: counted(func(r *shopRecord) string {
		switch {
		case r.level >= slog.LevelError:
			return "shop_error"
		case r.level >= slog.LevelWarn:
			return "shop_warn"
		case r.level >= slog.LevelInfo:
			return "shop_info"
		}
		return "shop_debug"
	}, func(r *shopRecord) bool { return r.program == webshop && r.kind == "log" })},
	{ask: "Which programs write how much?", line: `uevents top shop pay --by program --interval 200ms`, got: rowsOf, want: func(s *shopTruth) []string {
		twice := *s // a declared record is also counted for the event of its level
		twice.records = slices.Concat(s.records, slices.DeleteFunc(slices.Clone(s.records), func(r shopRecord) bool { return !r.request }))
		return counted(func(r *shopRecord) string { return r.program }, func(*shopRecord) bool { return true })(&twice)
	}},
	{ask: "Which processes log errors?", line: `uevents top shop_error pay_error --by process --interval 200ms`, got: rowsOf, want: counted(func(r *shopRecord) string {
		return r.program + "[PID]"
	}, func(r *shopRecord) bool { return r.kind == "log" && r.level >= slog.LevelError })},
	{ask: "Which requests fail, as it happens?", line: `uevents watch shop --where 'status >= 500'`, want: those(func(r *shopRecord) bool { return r.int("status") >= 500 })},
	{ask: "The next five errors?", line: `uevents watch shop_error -n 5`, want: first(5, those(func(r *shopRecord) bool {
		return r.program == webshop && r.kind == "log" && r.level >= slog.LevelError
	}))},
	{ask: "Errors of both, to look at later?", line: `uevents record shop pay --level error -o errors.jsonl`, want: those(func(r *shopRecord) bool {
		return r.kind == "log" && r.level >= slog.LevelError
	})},
}

func isRequest(r *shopRecord) bool { return r.request }

// counted answers with a row for each key: the key and how many records have it.
func counted(key func(r *shopRecord) string, meets func(r *shopRecord) bool) func(*shopTruth) []string {
	return func(s *shopTruth) (rows []string) {
		for key, list := range group(s, key, meets) {
			rows = append(rows, fmt.Sprintf("%s|%d", key, len(list)))
		}
		return rows
	}
}

// distributed answers with a row for each key: the key, how many records have it, and mean, sum, percentiles and maximum of a time.
func distributed(key func(r *shopRecord) string, took func(r *shopRecord) time.Duration, meets func(r *shopRecord) bool) func(*shopTruth) []string {
	return func(s *shopTruth) (rows []string) {
		for key, list := range group(s, key, meets) {
			var times []float64
			sum := 0.0
			for _, r := range list {
				times = append(times, float64(took(r)))
				sum += float64(took(r))
			}
			slices.Sort(times)
			row := []string{key, strconv.Itoa(len(list)), durationText(sum / float64(len(list))), durationText(sum)}
			for _, p := range []float64{0.5, 0.9, 0.99, 1} { // the least that so many are not above
				row = append(row, durationText(times[int(math.Ceil(p*float64(len(times))))-1]))
			}
			rows = append(rows, strings.Join(row, "|"))
		}
		return rows
	}
}

// group returns the records that meet a condition by a key.
func group(s *shopTruth, key func(r *shopRecord) string, meets func(r *shopRecord) bool) map[string][]*shopRecord {
	groups := map[string][]*shopRecord{}
	for i := range s.records {
		if r := &s.records[i]; meets(r) {
			groups[key(r)] = append(groups[key(r)], r)
		}
	}
	return groups
}

func durationText(ns float64) string { return string(output.AppendDuration(nil, time.Duration(ns))) }
