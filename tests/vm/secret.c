// SPDX-License-Identifier: GPL-2.0
/*
 * For tests/vm/test_sysmem.py, which compiles it and runs it in the guest: a page of ordinary memory that the kernel has
 * taken out of its own mapping (memfd_secret(2)). Prints its physical address, then keeps it until killed. The address
 * comes from /proc/self/pagemap: bits 54:0 of its 8 bytes for each page (the kernel's admin-guide/mm/pagemap.rst).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	int secret = syscall(SYS_memfd_secret, 0), map = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;
	char *page;

	if (secret < 0 || map < 0 || ftruncate(secret, 4096)) {
		perror("secret");
		return 1;
	}
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, secret, 0);
	if (page == MAP_FAILED) {
		perror("secret");
		return 1;
	}
	page[0] = 1;
	if (pread(map, &entry, 8, (uintptr_t)page / 4096 * 8) != 8 || !(entry >> 63))
		return 1;
	printf("%#llx\n", (unsigned long long)(entry & ((1ull << 55) - 1)) * 4096);
	fflush(stdout);
	pause();
	return 0;
}
