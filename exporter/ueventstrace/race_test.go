//go:build race

package ueventstrace_test

const raceEnabled = true
