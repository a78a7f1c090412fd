// Package symbols turns the return addresses of a process's user stack into functions, files and lines, without
// any help of the process: it reads /proc/PID/maps and the files that are mapped.
//
// Go programs keep a table of functions even when they are stripped; inlined calls are frames of their own (Go 1.20
// and later). Functions of C come from the symbol tables of the ELF files. Files that were deleted or that are in
// other mount namespaces are read through /proc/PID/exe, map_files and root.
package symbols
