package together

import "testing"

func TestFirst(t *testing.T) { testAdd(t) }

func TestSecond(t *testing.T) { testAdd(t) }

func testAdd(t *testing.T) {
	t.Helper()
	if add(); count != 1 {
		t.Error(count)
	}
}
