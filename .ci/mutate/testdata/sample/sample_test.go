package sample

import "testing"

func TestGrade(t *testing.T) {
	for n, want := range map[int]string{95: "middle", 96: "highest", 90: "middle", 10: "middle"} {
		if got := grade(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

func TestSum(t *testing.T) {
	if got := sum([]int{0, 3}); got != 2 {
		t.Error(got)
	}
	if len(table) != 7 {
		t.Error(len(table))
	}
	if length != 26 {
		t.Error(length)
	}
}

func TestNested(t *testing.T) {
	if !nested(2, 3) || nested(0, 3) {
		t.Error("wrong")
	}
}
