/* SPDX-License-Identifier: MIT */
#include "metrics/process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FD_FOLDER "/proc/self/fd"

static const struct process_info infos[] = {
    [PROCESS_CPU] = {"process_cpu_seconds_total", "counter", "CPU time of this process."},
    [PROCESS_RESIDENT] = {"process_resident_memory_bytes", "gauge", "Resident memory of this process."},
    [PROCESS_VIRTUAL] = {"process_virtual_memory_bytes", "gauge", "Virtual memory of this process."},
    [PROCESS_OPEN_FDS] = {"process_open_fds", "gauge", "Open file descriptors."},
    [PROCESS_MAX_FDS] = {"process_max_fds", "gauge", "Maximum number of open file descriptors."},
    [PROCESS_THREADS] = {"process_threads", "gauge", "Threads of this process."},
    [PROCESS_START] = {"process_start_time_seconds", "gauge", "Start time of this node."},
};

const struct process_info *process_get_info(enum process_metric metric)
{
    return &infos[metric];
}

static bool read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    bool good = file && fgets(out, (int)size, file);

    if (file)
        fclose(file);
    return good;
}

/* In pages: the address space, then what of it is in RAM. */
static bool read_memory(bool resident, double *out)
{
    int64_t total, in_ram;
    char line[200];

    if (!read_line("/proc/self/statm", line, sizeof line) || sscanf(line, "%" SCNd64 " %" SCNd64, &total, &in_ram) != 2)
        return false;
    *out = (double)(resident ? in_ram : total) * (double)sysconf(_SC_PAGESIZE);
    return true;
}

/* The 20th field. The second one is a name that may have blanks in it, and ends with the last bracket. */
static bool read_threads(double *out)
{
    char line[1000], *at;
    long threads;

    if (!read_line("/proc/self/stat", line, sizeof line) || !(at = strrchr(line, ')')) ||
        sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &threads) != 1)
        return false;
    *out = (double)threads;
    return true;
}

static bool count_fds(double *out)
{
    struct stat folder;
    DIR *dir;
    int n = 0;

    if (!stat(FD_FOLDER, &folder) && folder.st_size > 0) { /* kernels before 6.2 say 0 */
        *out = (double)folder.st_size;
        return true;
    }
    dir = opendir(FD_FOLDER);
    if (!dir)
        return false;
    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    *out = n - 1; /* that of this look is none */
    return true;
}

static bool read_fd_limit(double *out)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur == RLIM_INFINITY)
        return false;
    *out = (double)files.rlim_cur;
    return true;
}

static bool read_cpu(double *out)
{
    struct rusage used;

    if (getrusage(RUSAGE_SELF, &used))
        return false;
    *out = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    return true;
}

bool process_read(enum process_metric metric, int64_t started_ms, double *out)
{
    switch (metric) {
    case PROCESS_CPU: return read_cpu(out);
    case PROCESS_RESIDENT: return read_memory(/*resident=*/true, out);
    case PROCESS_VIRTUAL: return read_memory(/*resident=*/false, out);
    case PROCESS_OPEN_FDS: return count_fds(out);
    case PROCESS_MAX_FDS: return read_fd_limit(out);
    case PROCESS_THREADS: return read_threads(out);
    case PROCESS_START: *out = (double)started_ms / 1000.0; return true;
    case PROCESS_METRICS: break;
    }
    return false;
}
