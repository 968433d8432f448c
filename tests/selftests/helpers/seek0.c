// SPDX-License-Identifier: GPL-2.0
/* seek0 FD COMMAND...: seeks the inherited file descriptor FD to 0 and runs COMMAND with it as standard input. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (lseek(atoi(argv[1]), 0, SEEK_SET) < 0 || dup2(atoi(argv[1]), 0) < 0) {
		perror("seek0");
		return 1;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
