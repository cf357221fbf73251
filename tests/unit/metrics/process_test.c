/* SPDX-License-Identifier: MIT */
/* What the kernel says of this process moves as this process does. */
#include "metrics/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

static double get(enum process_metric metric)
{
    double value = -1;

    assert_true(process_read(metric, 1500, &value));
    return value;
}

static void descriptors_are_counted(void **state)
{
    (void)state;
    double before = get(PROCESS_OPEN_FDS);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct rlimit files;

    assert_true(before >= 3);
    assert_true(get(PROCESS_OPEN_FDS) == before + 1);
    close(fd);
    assert_true(get(PROCESS_OPEN_FDS) == before);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    assert_true(get(PROCESS_MAX_FDS) == (double)files.rlim_cur);
}

static void memory_grows_with_what_is_used(void **state)
{
    (void)state;
    const size_t size = 64 << 20;
    double resident = get(PROCESS_RESIDENT), total = get(PROCESS_VIRTUAL);
    char *block = malloc(size);

    assert_non_null(block);
    memset(block, 1, size);
    assert_true(resident > 100000 && total >= resident);
    assert_true(get(PROCESS_RESIDENT) - resident > (double)(size / 2));
    assert_true(get(PROCESS_VIRTUAL) - total > (double)(size / 2));
    free(block);
}

static void *wait_for_lock(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

static void threads_are_counted(void **state)
{
    (void)state;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    double before = get(PROCESS_THREADS);
    pthread_t thread;

    pthread_mutex_lock(&lock);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_lock, &lock), 0);
    assert_true(get(PROCESS_THREADS) == before + 1);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

static void processor_time_grows_and_the_start_stays(void **state)
{
    (void)state;
    double began = get(PROCESS_CPU);

    assert_true(began >= 0 && began < 60);
    for (int i = 0; i < 100000 && get(PROCESS_CPU) == began; i++)
        ;
    assert_true(get(PROCESS_CPU) > began);
    assert_true(get(PROCESS_START) == 1.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_are_counted),
        cmocka_unit_test(memory_grows_with_what_is_used),
        cmocka_unit_test(threads_are_counted),
        cmocka_unit_test(processor_time_grows_and_the_start_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
