/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "shardwheel/base.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/sw-file-XXXXXX";

static void write_file(size_t size)
{
    char bytes[1000];
    int fd = open(path, O_WRONLY | O_TRUNC);

    memset(bytes, 'x', sizeof bytes);
    for (; size > 0; size -= size < sizeof bytes ? size : sizeof bytes) {
        size_t n = size < sizeof bytes ? size : sizeof bytes;
        assert_int_equal(write(fd, bytes, n), n);
    }
    close(fd);
}

static void whole_files_are_read(void **state)
{
    struct buf out = {0};
    struct errctx ec;

    (void)state;
    write_file(0);
    assert_int_equal(file_read(path, 0, 10, &out, &ec), ERR_OK);
    assert_string_equal(out.data, "");
    write_file(100000);
    buf_puts(&out, "head");
    assert_int_equal(file_read(path, 0, 200000, &out, &ec), ERR_OK);
    assert_int_equal(out.len, 100004);
    assert_memory_equal(out.data, "headxxx", 7);
    assert_int_equal(strlen(out.data), out.len);
    buf_fini(&out);
}

static void too_much_is_not_read(void **state)
{
    struct buf out = {0};
    struct errctx ec;

    (void)state;
    write_file(100000);
    assert_int_equal(file_read(path, 0, 50000, &out, &ec), ERR_OK);
    assert_in_range(out.len, 50001, 99999);
    buf_clear(&out);
    write_file(50000);
    assert_int_equal(file_read(path, 0, 50000, &out, &ec), ERR_OK);
    assert_int_equal(out.len, 50000);
    buf_clear(&out);
    assert_int_equal(file_read(path, 0, 16 * 1024, &out, &ec), ERR_OK); /* as much as comes at once */
    assert_in_range(out.len, 16 * 1024 + 1, 49999);
    buf_fini(&out);
}

static void what_cannot_be_read_is_told(void **state)
{
    struct buf out = {0};
    struct errctx ec;

    (void)state;
    assert_int_equal(file_read("/nowhere/at all", 0, 10, &out, &ec), ERR_NOTFOUND);
    assert_string_equal(ec.text, "No such file or directory");
    assert_int_equal(file_read("/tmp", 0, 10, &out, &ec), ERR_IO);
    assert_string_equal(ec.text, "Is a directory");
    assert_int_equal(file_read_rest(-1, 10, &out, &ec), ERR_IO);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files_are_read),
        cmocka_unit_test(too_much_is_not_read),
        cmocka_unit_test(what_cannot_be_read_is_told),
    };
    int fd = mkstemp(path), failed;

    if (fd < 0)
        return 1;
    close(fd);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
