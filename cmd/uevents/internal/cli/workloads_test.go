package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/record"
)

// containerID returns the id of a container, that begins with the digits.
func containerID(digits string) string { return digits + strings.Repeat("0", 64-len(digits)) }

const podUID = "8dbc5577-d0e2-4706-8787-57d52c03ddf2"

// workloadFiles returns the root of a machine with containers and units.
func workloadFiles(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	write := func(path, content string) {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	for name, digits := range map[string]string{"shop-web-1": "a1", "shop-web-2": "a2", "db": "b1", "\x1b[2J": "c1"} {
		config, err := json.Marshal(map[string]string{"Name": "/" + name})
		require.NoError(t, err)
		write("var/lib/docker/containers/"+containerID(digits)+"/config.v2.json", string(config))
	}
	for i, namespace := range []string{"default", "test"} {
		uid := strings.Replace(podUID, "8", fmt.Sprint(i), 1)
		write("var/log/pods/"+namespace+"_web-0_"+uid+"/app/0.log", "")
		link := filepath.Join(root, "var/log/containers/web-0_"+namespace+"_app-"+containerID(fmt.Sprint("d", i))+".log")
		require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
		require.NoError(t, os.Symlink("/var/log/pods/"+namespace+"_web-0_"+uid+"/app/0.log", link))
	}
	write("proc/7/comm", "nginx")
	write("proc/7/exe", "")
	write("proc/7/cgroup", "0::/system.slice/nginx.service\n")
	return root
}

// TestWorkloadConditions: flags become conditions, which can be joined by and.
func TestWorkloadConditions(t *testing.T) {
	root := workloadFiles(t)
	uid0, uid1 := "0"+podUID[1:], "1"+podUID[1:]
	id := func(digits string) string { return fmt.Sprintf("container_id in (%s)", containerID(digits)) }
	for _, c := range []struct {
		f    workloadFlags
		want []string
	}{
		{workloadFlags{}, nil},
		{workloadFlags{units: []string{"nginx"}}, []string{`unit == "nginx"`}},
		{workloadFlags{units: []string{"nginx.service"}}, []string{`unit == "nginx.service"`}},
		{workloadFlags{units: []string{"org.example.app"}}, []string{`unit == "org.example.app"`}},
		{workloadFlags{units: []string{"user-1000.slice", "worker@[0-9].*"}}, []string{`(unit == "user-1000.slice") or (unit ~ "worker@[0-9].*")`}},
		{workloadFlags{units: []string{`a\x2db`, `a\x2d?`}}, []string{`(unit == "a\\x2db") or (unit ~ "a\\\\x2d?")`}},
		{workloadFlags{containers: []string{"db"}}, []string{id("b1")}},
		{workloadFlags{containers: []string{"b1", "db", "shop-*"}}, []string{fmt.Sprintf("container_id in (%s, %s, %s)", containerID("a1"), containerID("a2"), containerID("b1"))}},
		{workloadFlags{containers: []string{containerID("ff")}}, []string{id("ff")}},
		{workloadFlags{pods: []string{"test/web-0"}}, []string{fmt.Sprintf("pod_uid in (%s)", uid1)}},
		{workloadFlags{pods: []string{podUID}}, []string{fmt.Sprintf("pod_uid in (%s)", podUID)}},
		{workloadFlags{pods: []string{"web-*"}, units: []string{"x"}}, []string{`unit == "x"`, fmt.Sprintf("pod_uid in (%s, %s)", uid0, uid1)}},
		{workloadFlags{pods: []string{"default/web-0"}, containers: []string{"app"}}, []string{fmt.Sprintf("pod_uid in (%s)", uid0), id("d0")}},
	} {
		c.f.root = root
		list, err := c.f.conditions()
		require.NoError(t, err)
		var texts []string
		for _, c := range list {
			if c != nil {
				texts = append(texts, c.String())
			}
		}
		assert.Equal(t, c.want, texts)
	}
}

// TestNameConditions: a name is selected by what it is, whatever its characters, and by patterns.
func TestNameConditions(t *testing.T) {
	for name, patterns := range map[string][]string{
		`at\x2dtest.service`: {`at\x2dtest`, `at\x2dtest.service`, `at\x2d*`, `at*`, `a?\x2dtest.servic[e]`},
		"ünä.service":        {"ün*", "ün?.service", "?nä.service", "[ü]n[a-ä]*"},
	} {
		ev := &record.Record{Process: &record.Process{Unit: name, Comm: name}}
		for _, pattern := range patterns {
			programs := conditionFlags{programs: []string{pattern}}
			c, err := programs.condition()
			require.NoError(t, err)
			assert.Equal(t, pattern != `at\x2dtest`, c.Match(ev), pattern)
			if strings.HasPrefix(name, "at") {
				units := conditionFlags{workloads: workloadFlags{units: []string{pattern}}}
				c, err = units.condition()
				require.NoError(t, err)
				assert.True(t, c.Match(ev), pattern)
			}
		}
	}
	for _, name := range []string{`b\s`, `b\`, "a\nb", "\xff\xfe", `"'`, "a b"} {
		c, err := (&conditionFlags{programs: []string{name}}).condition()
		require.NoError(t, err)
		assert.True(t, c.Match(&record.Record{Process: &record.Process{Comm: name}}), name)
		assert.False(t, c.Match(&record.Record{Process: &record.Process{Comm: name + "x"}}), name)
	}
}

// TestManyContainers: a pattern may match as many containers as a large machine runs.
func TestManyContainers(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "var/log/containers")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for n := range 3000 {
		require.NoError(t, os.Symlink("x", filepath.Join(dir, fmt.Sprintf("p%d_default_c-%064x.log", n, n))))
	}
	f := conditionFlags{workloads: workloadFlags{containers: []string{"*"}, root: root}, level: "warn"}
	c, err := f.condition()
	require.NoError(t, err)
	of := func(n int) *record.Record {
		return &record.Record{Kind: record.KindLog, Severity: record.SeverityError, Process: &record.Process{ContainerID: fmt.Sprintf("%064x", n)}}
	}
	assert.True(t, c.Match(of(2999)))
	assert.False(t, c.Match(of(3000)))
}

// TestWorkloadErrors: errors say what to do.
func TestWorkloadErrors(t *testing.T) {
	root := workloadFiles(t)
	for _, c := range []struct {
		f            workloadFlags
		code         int
		want, remedy string
	}{
		{workloadFlags{units: []string{""}}, exitUsage, `--unit "" is neither`, ""},
		{workloadFlags{units: []string{`a"b`}}, exitUsage, `--unit "a\"b" is neither`, ""},
		{workloadFlags{units: []string{`*"`}}, exitUsage, "is neither", ""},
		{workloadFlags{units: []string{"*'"}}, exitUsage, "is neither", ""},
		{workloadFlags{units: []string{"[a"}}, exitUsage, "is neither", ""},
		{workloadFlags{units: []string{"a.timer*\n"}}, exitUsage, "is neither", ""},
		{workloadFlags{units: []string{"a@"}}, exitUsage, "is neither", ""},
		{workloadFlags{containers: []string{"shop-web-3"}}, exitError, `no container "shop-web-3": looked at /var/log/pods, `, "did you mean shop-web-1, shop-web-2?"},
		{workloadFlags{containers: []string{"web"}}, exitError, `no container "web"`, "did you mean shop-web-1, shop-web-2?"},
		{workloadFlags{containers: []string{"frontend"}}, exitError, `no container "frontend"`, `there are \x1b[2J, app and 3 more`},
		{workloadFlags{containers: []string{"app"}}, exitError, `several match container "app": default/web-0/app (d00000000000), test/web-0/app (d10000000000)`, "give more of its ID, or --pod, too"},
		{workloadFlags{containers: []string{"["}}, exitUsage, "syntax error", ""},
		{workloadFlags{pods: []string{"web-0"}}, exitError, `several match pod "web-0": default/web-0, test/web-0`, "give NAMESPACE/NAME"},
		{workloadFlags{pods: []string{"web"}}, exitError, `no pod "web"`, "did you mean default/web-0, test/web-0, web-0?"},
		{workloadFlags{pods: []string{"default/web-0"}, containers: []string{"db"}}, exitError, `no container "db"`, "there are app"},
	} {
		c.f.root = root
		_, err := c.f.conditions()
		require.ErrorContains(t, err, c.want)
		assert.Equal(t, c.code, exitCode(err), c.want)
		_, remedy := messageOf(err)
		assert.Equal(t, c.remedy, remedy, c.want)
	}
	empty := workloadFlags{containers: []string{"a"}, root: t.TempDir()}
	_, err := empty.conditions()
	_, remedy := messageOf(err)
	assert.Empty(t, remedy)
	require.NoError(t, os.MkdirAll(filepath.Join(empty.root, "var/lib/docker"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(empty.root, "var/lib/docker/containers"), nil, 0o600))
	_, err = empty.conditions()
	assert.ErrorContains(t, err, "/var/lib/docker/containers: not a directory")
}

// TestWorkloadCompletion: the shell completes names that exist, of which none deceives a terminal, and programs.
func TestWorkloadCompletion(t *testing.T) {
	root := workloadFiles(t)
	complete := func(args ...string) string {
		var out bytes.Buffer
		cmd := &cobra.Command{Use: "uevents", Run: func(*cobra.Command, []string) {}}
		f := workloadFlags{}
		f.add(cmd)
		f.root = root
		cmd.Flags().String("pid", "", "")
		cmd.Flags().String("program", "", "")
		e := &env{tracefs: root} // no tracefs, and so no memory of programs
		e.completePrograms(cmd, "pid", true)
		e.completePrograms(cmd, "program", false)
		cmd.SetOut(&out)
		cmd.SetErr(io.Discard)
		cmd.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args...))
		require.NoError(t, cmd.Execute())
		return strings.TrimSuffix(out.String(), ":4\n")
	}
	uid0, uid1 := "0"+podUID[1:], "1"+podUID[1:]
	assert.Equal(t, "nginx.service\n", complete("--unit", ""))
	assert.Equal(t, "db\tdb (docker b10000000000)\n", complete("--container", "d"))
	assert.Equal(t, "app\tdefault/web-0/app (d00000000000)\n"+
		"db\tdb (docker b10000000000)\nshop-web-1\tshop-web-1 (docker a10000000000)\nshop-web-2\tshop-web-2 (docker a20000000000)\n", complete("--container", ""))
	assert.Equal(t, "default/web-0\t"+uid0+"\ntest/web-0\t"+uid1+"\n", complete("--pod", ""))
	own, err := os.Executable()
	require.NoError(t, err)
	assert.Contains(t, complete("--pid", fmt.Sprint(os.Getpid())), fmt.Sprintf("%d\t%s\n", os.Getpid(), filepath.Base(own)))
	assert.Contains(t, complete("--program", ""), filepath.Base(own)+"\n")
}

// TestCompletionRunsNothing: a shell evaluates the part that several values have in common.
func TestCompletionRunsNothing(t *testing.T) {
	hostile := []string{
		"zzp$(touch x)1", "zzp$(touch x)2", "zzp`touch x`", "zzp;touch x", "zzp|x", "zzp&", "zzp>x", "zzp<x", "zzp x", "zzp'", "zzp\"", `zzp\x`, "zzp*", "zzp?", "zzp[a]",
		"zzp{a,b}", "zzp~", "zzp#", "zzp!x", "zzp(", "zzp\nx", "zzp\u202e", "",
	}
	safe := []string{"zzp", "zzp-1.2_x@y+z:1,2/3", "zzp1\t$(description)"}
	assert.Equal(t, safe, completions(slices.Concat(hostile, safe), nil, ""))
	assert.Equal(t, []string{"dup\tu32 a"}, completions([]string{"dup\tu64 b", "dup\tu32 a"}, nil, ""), "bash inserts the description of a word that it has twice")
}
