package tracefs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/userevents/userevents-go/internal/tracefs"
)

// FuzzParseMounts: every line is a mount, or there is an error and no mount.
func FuzzParseMounts(f *testing.F) {
	f.Add("24 22 0:12 / /sys/kernel/tracing rw,nosuid shared:9 master:2 - tracefs tracefs rw\n")
	f.Add("28 22 0:12 /user_events_data /a\\040b\\134 ro - tracefs tracefs rw\n25 22 0:7 / /d rw - debugfs debugfs rw\n")
	f.Add("1 2 3 / /mnt - tracefs\n")
	f.Fuzz(func(t *testing.T, text string) {
		mounts, err := tracefs.ParseMounts(strings.NewReader(text))
		if err != nil && mounts != nil {
			t.Fatal("mounts beside an error")
		}
		if err == nil && len(mounts) != strings.Count(strings.TrimSuffix(text, "\n")+"\n", "\n") && text != "" {
			t.Fatalf("%d mounts in %q", len(mounts), text)
		}
		for _, m := range mounts {
			dir, whole := m.Tracefs()
			file, ok := m.DataFile()
			if whole != (dir != "") || ok != (file != "") || whole && !ok {
				t.Fatalf("%+v: directory %q %t, file %q %t", m, dir, whole, file, ok)
			}
		}
	})
}

// FuzzParseStatus: exactly one of status and error, and what was parsed can be written and
// parsed again.
func FuzzParseStatus(f *testing.F) {
	f.Add("1:one # Used by other\n\nActive: 2\nBusy: 1\nMax: 32768\n")
	f.Add("one # Used by ftrace perf\ntwo\n\nActive: 2\nBusy: 1\n")
	f.Add("\n\n #\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := tracefs.ParseStatus(strings.NewReader(text))
		if (s == nil) == (err == nil) {
			t.Fatal("exactly one of status and error")
		}
		if err != nil {
			return
		}
		if strings.Contains(text, "\r") {
			return // at the end of a line, where it is not part of it
		}
		printed := printStatus(s)
		again, err := tracefs.ParseStatus(strings.NewReader(printed))
		if err != nil || printStatus(again) != printed {
			t.Fatalf("%+v became %+v, %v", s, again, err)
		}
	})
}

// printStatus is the inverse of ParseStatus.
func printStatus(s *tracefs.Status) string {
	var b strings.Builder
	for _, e := range s.Events {
		if e.Index >= 0 {
			fmt.Fprintf(&b, "%d:", e.Index)
		}
		b.WriteString(e.Name)
		if len(e.UsedBy) > 0 {
			b.WriteString(" # Used by " + strings.Join(e.UsedBy, " "))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\nActive: %d\nBusy: %d\nMax: %d\n", s.Active, s.Busy, s.Max)
	return b.String()
}

// FuzzParseDynamicEvents: what this library would register survives being listed.
func FuzzParseDynamicEvents(f *testing.F) {
	f.Add("u:one u32 a; __rel_loc char[] b\nu:two\np:kprobes/x y\n")
	f.Add("u: e  struct point p 8;unsigned char[4] c # Used by ftrace\n")
	f.Add("u:bad-name long x\nu:\n#u:x\n")
	f.Fuzz(func(t *testing.T, text string) {
		decls, err := tracefs.ParseDynamicEvents(strings.NewReader(text))
		if err != nil {
			return // a line without end
		}
		for _, d := range decls {
			if d.Validate() != nil {
				continue
			}
			again, err := tracefs.ParseDynamicEvents(strings.NewReader("u:" + d.String() + "\n"))
			if err != nil || len(again) != 1 || !again[0].Equal(d) {
				t.Fatalf("%v became %v, %v", d, again, err)
			}
		}
	})
}

// FuzzRestore: a saved listing is restored word for word, whatever it says.
func FuzzRestore(f *testing.F) {
	f.Add("u:one u32 a; __rel_loc char[] b\nu:two\n")
	f.Add("u:bad-name  long x # comment\n-:user_events/one\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		first := newDir(t, map[string]string{"dynamic_events": ""})
		if first.Restore(strings.NewReader(text)) != nil {
			return // a line without end, or two formats of one name
		}
		listed := read(t, first, "dynamic_events")
		second := newDir(t, map[string]string{"dynamic_events": ""})
		if err := second.Restore(strings.NewReader(listed)); err != nil {
			t.Fatal(err)
		}
		if again := read(t, second, "dynamic_events"); again != listed {
			t.Fatalf("%q became %q", listed, again)
		}
	})
}
