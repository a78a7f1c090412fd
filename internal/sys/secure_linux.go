package sys

import "golang.org/x/sys/unix"

// Secure reports whether the program runs with other privileges than those of its caller, such as with a set-user-ID bit.
func Secure() bool {
	const atSecure = 23 // AT_SECURE of linux/auxvec.h
	vector, err := unix.Auxv()
	if err != nil {
		return false
	}
	for _, v := range vector {
		if v[0] == atSecure {
			return v[1] != 0
		}
	}
	return false
}
