// Prints the address of a function and of a static one, then waits for the end of its input.
#include <stdio.h>

static int __attribute__((noinline)) hidden(int x) { return x + 1; }
int __attribute__((noinline)) visible(int x) { return hidden(x) * 2; }

int main(void)
{
	printf("[{\"PC\":%lu,\"Func\":\"visible\"},{\"PC\":%lu,\"Func\":\"hidden\"}]\n",
	       (unsigned long)visible + 1, (unsigned long)hidden + 1);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return visible(0) == 0;
}
