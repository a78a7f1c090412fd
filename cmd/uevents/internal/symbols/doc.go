// Package symbols turns the return addresses of a process's user stack into functions, files and lines. It reads
// /proc/PID/maps and the mapped files, and needs no cooperation of the process.
//
// Go programs keep a table of functions even when they are stripped; inlined calls are frames of their own (Go 1.20 and
// later). Functions of C come from the symbol tables of the ELF files. Deleted files and files of other mount
// namespaces are read through /proc/PID/exe, map_files and root.
package symbols
