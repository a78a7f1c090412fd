// This file lets the compiler accept functions without a body, which are those of the runtime.
