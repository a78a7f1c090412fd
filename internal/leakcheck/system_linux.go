package leakcheck

import (
	"fmt"
	"os"
	"strings"

	"github.com/userevents/userevents-go/internal/words"
)

func (i inventory) addSystem() {
	inUse, _ := words.Usage()
	i["enable word"] += inUse
	i.addDescriptors()
	i.addMappings()
}

func (i inventory) addDescriptors() {
	const dir = "/proc/self/fd"
	own := fmt.Sprintf("/proc/%d/fd", os.Getpid()) // that of reading the directory
	list, err := os.ReadDir(dir)
	if err != nil {
		i["error: "+err.Error()]++
		return
	}
	for _, entry := range list {
		if target, err := os.Readlink(dir + "/" + entry.Name()); err == nil && target != own {
			i["descriptor of "+target]++
		}
	}
}

// addMappings adds the mappings of files and of perf's buffers. Go's own memory is anonymous,
// and so are the pages of enable words, which are kept and counted by their words.
func (i inventory) addMappings() {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		i["error: "+err.Error()]++
		return
	}
	for line := range strings.Lines(string(maps)) {
		// 7f0c-7f0d r--s 00000000 00:0c 1042   /sys/kernel/tracing/user_events_status
		columns := strings.Fields(line)
		if len(columns) < 6 {
			continue
		}
		file := columns[5]
		library := strings.Contains(file, ".so") || strings.Contains(file, "/gconv") // loaded on demand, with cgo
		if !library && (strings.HasPrefix(file, "/") || strings.HasPrefix(file, "anon_inode:")) {
			i["mapping of "+file]++
		}
	}
}
