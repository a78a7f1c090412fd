// Package abi speaks the three generations of the user_events interface to the kernel. It
// is the one package of the library that turns Go memory into addresses for the kernel.
//
// Sources: include/uapi/linux/user_events.h and kernel/trace/trace_events_user.c of Linux
// 6.12, and include/linux/user_events.h of Linux 6.1.
package abi
