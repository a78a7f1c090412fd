#include "textflag.h"

// func nopSite()
//
// A probe on a nop is emulated: the kernel need not execute anything out of line.
TEXT ·nopSite(SB), NOSPLIT, $0-0
	BYTE $0x90
	RET

// func guardedSite()
//
// Another one, for the probe with a semaphore: all probes of a site have to have the same.
TEXT ·guardedSite(SB), NOSPLIT, $0-0
	BYTE $0x90
	RET
