/* SPDX-License-Identifier: MIT */
/*
 * Loaded into a node by LD_PRELOAD: adds to the wall clock what stands in the file CLOCK_SHIM_FILE, 8 bytes in
 * microseconds, which a test changes at any time. The monotonic clocks stay as they are, as when somebody sets the
 * clock of a machine.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*real_gettime)(clockid_t, struct timespec *);
static _Atomic int64_t *offset_us;

__attribute__((constructor)) static void shim_init(void)
{
    const char *path = getenv("CLOCK_SHIM_FILE");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset_us, PROT_READ, MAP_SHARED, fd, 0);

    *(void **)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    if (fd >= 0)
        close(fd);
    if (!real_gettime || mapped == MAP_FAILED)
        abort(); /* a test that believes in a stepped clock must not run with a true one */
    offset_us = mapped;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    int rc;

    if (!real_gettime)
        shim_init(); /* another library's constructor came first */
    rc = real_gettime(id, out);
    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        int64_t us = (int64_t)out->tv_sec * 1000000 + out->tv_nsec / 1000 + *offset_us;

        out->tv_sec = us / 1000000;
        out->tv_nsec = us % 1000000 * 1000 + out->tv_nsec % 1000;
    }
    return rc;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
