/* SPDX-License-Identifier: MIT */
/*
 * Loaded into a node by LD_PRELOAD: the thread whose name stands in the file STUCK_SHIM_FILE, 16 bytes, does not come
 * back from its next look at a clock, until the file has another name. All others go on.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static int (*real_gettime)(clockid_t, struct timespec *);
static volatile const char *wanted;

__attribute__((constructor)) static void shim_init(void)
{
    const char *path = getenv("STUCK_SHIM_FILE");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);

    *(void **)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    if (fd >= 0)
        close(fd);
    if (!real_gettime || mapped == MAP_FAILED)
        abort(); /* a test that believes in a stuck thread must not run without one */
    wanted = mapped;
}

static int is_wanted(void)
{
    char name[17] = "";

    return prctl(PR_GET_NAME, name) == 0 && strncmp(name, (const char *)wanted, 16) == 0;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    struct timespec pause = {.tv_nsec = 20000000};

    if (!real_gettime)
        shim_init(); /* another library's constructor came first */
    while (wanted[0] && is_wanted())
        nanosleep(&pause, NULL);
    return real_gettime(id, out);
}
