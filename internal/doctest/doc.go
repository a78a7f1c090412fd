// Package doctest compiles the Go code of README.md and docs, runs the tests in it, and follows their links. It refuses words for
// which the field has a better term, in documents, public comments, messages of errors and names of tests. The command lines and
// outputs of uevents in documents are tested in cmd/uevents/internal/cli.
//
// Each fenced block of the language go is a package of its own. A block with a package clause is compiled as it stands. A block
// without one is a list of declarations or the body of a function, and may use packages without importing them: those of this repository
// and of the standard library by their names, unless two have the same name, and OpenTelemetry's by the names in a table. Any
// other undeclared name is an error.
//
// A block is compiled in the main module, which in the workspace of go.work can import the packages of all modules of the
// repository, except internal ones, and the libraries that these require. So a block may import a library that only an example requires.
package doctest
