//go:build !race

package ueventstrace_test

const raceEnabled = false
