package cli

import (
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
)

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
