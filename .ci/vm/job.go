package main

import "time"

// portName names the virtio-serial port that carries frames from guest to host.
const portName = "userevents"

// job is what the host asks of a guest. It travels as a JSON file, which the
// guest reads from the host's root directory.
type job struct {
	Kernel   string
	Env      []string
	Packages []testPackage
	Args     []string // flags of every test binary
	// Silence is how long a test binary may print nothing before the guest asks
	// it for its goroutines and stops it. 0: for ever, since where a guest counts instructions, its
	// clock jumps whenever it waits for the host.
	Silence time.Duration
	Shell   *shell
}

// testPackage is one compiled test binary and the directory it runs in.
type testPackage struct {
	ImportPath string
	Dir        string
	Binary     string
}

// shell asks for an interactive shell instead of tests.
type shell struct {
	Dir        string
	Rows, Cols uint16
}

// frameKind tells what a frame reports.
type frameKind string

const (
	frameReady  frameKind = "ready"  // the guest is up
	frameOutput frameKind = "output" // a test binary printed Data
	frameExit   frameKind = "exit"   // a test binary ended
	frameDone   frameKind = "done"   // nothing is left to do
)

// frame is one message from guest to host. Frames are JSON values, one after the
// other: a guest that dies leaves a stream without frameDone, whatever its tests
// printed.
type frame struct {
	Kind    frameKind
	Package string        `json:",omitempty"`
	Data    []byte        `json:",omitempty"`
	Failure string        `json:",omitempty"` // of frameExit: how the binary failed
	Elapsed time.Duration `json:",omitempty"` // of frameExit
}
