package processcontext

import (
	"os"
	"testing"

	"github.com/userevents/userevents-go/internal/leakcheck"
)

// envTask names the task that a child process runs in place of the tests.
const envTask = "PROCESSCONTEXT_TASK"

var tasks = map[string]func(){}

// TestMain fails the package when its tests leave something behind.
func TestMain(m *testing.M) {
	if task, ok := tasks[os.Getenv(envTask)]; ok {
		task()
		return
	}
	leakcheck.Main(m)
}
