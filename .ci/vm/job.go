package main

// job is what the host asks of a guest. It travels as a JSON file in the guest's root
// directory.
type job struct {
	Kernel   string
	Nonce    string // what tells frames from output
	Env      []string
	Packages []testPackage
	Args     []string // flags of every test binary
	// Counting says that the guest counts instructions, so nothing may run beside
	// a benchmark.
	Counting bool
	Shell    *shell
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

func (j job) mark() string { return "\x00" + j.Nonce }
