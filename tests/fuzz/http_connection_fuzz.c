/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for connections: the bytes of one, cut anywhere, go over a socket to the real front with its thread and
 * workers, and on to all that http_handlers_fuzz drives. Bytes 0 to 7: http_world.h; byte 8: how it is cut; the rest
 * are the bytes that a client sends before it closes its side.
 *
 * Oracle      What comes back is whole answers and nothing else, one at least where there is a request, no more than
 *             there are requests, each by a status of HTTP; then the connection is closed. No room is left behind.
 * Run: tools/fuzz http_connection (-max_len=20000: bodies beyond SMALL_BODY)
 */
#include "http_world.h"

#include "http/caller.h"

#include <errno.h>
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS 20000 /* longer than any deadline that a request of a quick client has */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct front *fronts[WORLDS];
static struct counters front_counters;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct errctx ec;

    (void)argc, (void)argv;
    world_begin();
    for (int i = 0; i < WORLDS; i++) {
        const struct front_opts opts = {.bind = "127.0.0.1",
                                        .threads = 4,
                                        .max_body = 1u << 20,
                                        .trusted = world_servers[i]->trusted,
                                        .admit = http_admit,
                                        .handle = http_handle,
                                        .write_busy = http_write_busy,
                                        .arg = world_servers[i]};
        world_must(front_start(&opts, clock_system(), &front_counters, &fronts[i], &ec), &ec);
    }
    return 0;
}

static void give_up(const struct buf *in, const char *why)
{
    fprintf(stderr, "%s: %.3000s\n", why, in->len ? in->data : "");
    abort();
}

/* ---- the client -------------------------------------------------------------------------------------------------- */

static int open_connection(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof to))
        return fd;
    if (fd < 0 || errno != EINTR) {
        perror("connect");
        abort();
    }
    close(fd); /* the fuzzer's own clock came between */
    return open_connection(port);
}

/* In up to four pieces. The server may have closed the connection by then. */
static void send_pieces(int fd, const uint8_t *data, size_t size, unsigned how)
{
    size_t piece = how % 4 ? size / (1 + how % 4) + 1 : size;

    for (size_t at = 0; at < size;) {
        size_t len = size - at < piece ? size - at : piece;
        ssize_t n = send(fd, data + at, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        at += (size_t)n;
    }
}

/* Until the server closes. False: it reset the connection. */
static bool read_all(int fd, struct buf *in)
{
    char piece[65536];

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, ANSWER_MS);
        if (ready < 0 && errno == EINTR) /* the fuzzer's own clock */
            continue;
        if (ready != 1)
            give_up(in, "no end comes");
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n <= 0)
            return n == 0;
        buf_append(in, piece, (size_t)n);
    }
}

/* ---- what came back ---------------------------------------------------------------------------------------------- */

/* Takes chunks, up to the last. NULL: not whole. */
static const char *skip_chunks(const char *at, const char *end)
{
    for (;;) {
        char *digits_end;
        if (!memmem(at, (size_t)(end - at), "\r\n", 2))
            return NULL;
        size_t len = strtoul(at, &digits_end, 16);
        if (digits_end == at || strncmp(digits_end, "\r\n", 2) != 0 || len + 4 > (size_t)(end - digits_end))
            return NULL;
        at = digits_end + 2 + len;
        if (strncmp(at, "\r\n", 2) != 0)
            return NULL;
        at += 2;
        if (!len)
            return at;
    }
}

static bool has_line(const char *head, size_t len, const char *line)
{
    return memmem(head, len, line, strlen(line)) != NULL;
}

/* Behind the answer at `at`, whose body a HEAD has not; NULL where it goes on to the end of the connection. */
static const char *skip_answer(const struct buf *in, const char *at, bool head_only)
{
    const char *end = in->data + in->len, *body = memmem(at, (size_t)(end - at), "\r\n\r\n", 4), *length;
    int status = strncmp(at, "HTTP/1.1 ", 9) ? 0 : atoi(at + 9);

    if (!body || (status != 100 && (status < 200 || status > 599)))
        give_up(in, "this is no answer");
    size_t head_len = (size_t)(body - at) + 2;
    body += 4;
    if (status == 100 || status == 304 || status == 204 || head_only)
        return body;
    if (has_line(at, head_len, "\r\nTransfer-Encoding: chunked\r\n"))
        return skip_chunks(body, end);
    length = memmem(at, head_len, "\r\nContent-Length: ", 18);
    if (!length)
        return NULL;
    size_t len = strtoul(length + 18, NULL, 10);
    if (len > (size_t)(end - body))
        give_up(in, "an answer was cut");
    return body + len;
}

/* How long the body is; false: it is not there as a whole, or no body. */
static bool measure_body(const struct http_head *head, const char *at, size_t left, size_t *len)
{
    struct chunks chunks = {0};
    enum chunks_state state = CHUNKS_MORE;

    *len = (size_t)head->length;
    if (!head->chunked)
        return head->length <= left;
    while (*len < left && state != CHUNKS_WHOLE) {
        size_t n, data_len;
        const char *data = NULL;
        state = chunks_step(&chunks, at + *len, left - *len, &n, &data, &data_len);
        if (state == CHUNKS_BAD)
            return false;
        *len += n;
    }
    return state == CHUNKS_WHOLE;
}

/* The requests that may be answered, as head.c reads them: up to the first that certainly ends the connection. heads:
 * those of HEAD. */
static size_t count_requests(const char *at, size_t left, bool heads[], size_t max)
{
    size_t count = 0;

    while (count < max) {
        size_t scanned = 0, end = 0, body = 0;
        struct http_head head = {0};
        const char *why;
        if (left >= 2 && !memcmp(at, "\r\n", 2)) {
            at += 2;
            left -= 2;
        }
        if (!count && left >= 2 && !memcmp(at, "\r\n", 2))
            return 0; /* blank lines: in pieces each is passed over, at once the second one is a bad head */
        enum head_end found = head_find_end(at, left, &scanned, &end);
        if (found == HEAD_MORE)
            break;
        heads[count++] = false;
        if (found != HEAD_WHOLE)
            break;
        char *text = malloc(end + 1);
        memcpy(text, at, end);
        text[end] = '\0';
        int status = head_read(text, end, &head, &why);
        heads[count - 1] = head.method && !strcmp(head.method, "HEAD"); /* also where its fields are refused */
        bool goes_on = !status && head.may_keep && measure_body(&head, at + end, left - end, &body);
        free(text);
        if (!goes_on)
            break;
        at += end + body;
        left -= end + body;
    }
    return count;
}

#define REQUESTS_MAX 64

static void check_answers(const struct buf *in, const uint8_t *sent, size_t size, bool was_reset)
{
    bool heads[REQUESTS_MAX];
    size_t most = count_requests((const char *)sent, size, heads, REQUESTS_MAX), count = 0;
    const char *at = in->data, *end = in->data + in->len;

    while (at && at < end) {
        bool going_on = !strncmp(at, "HTTP/1.1 100 ", 13);
        if (!going_on && most && count == most)
            give_up(in, "more answers than requests");
        at = skip_answer(in, at, !going_on && count < most && heads[count]);
        count += !going_on;
    }
    if (most && !count && !was_reset)
        give_up(in, "a request without an answer");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= WORLD_BYTES + 1)
        return 0;
    world_choose(data);
    struct front *f = fronts[data[0] % WORLDS];
    unsigned how = data[WORLD_BYTES];
    struct buf in = {0};

    data += WORLD_BYTES + 1;
    size -= WORLD_BYTES + 1;
    int fd = open_connection(front_get_port(f));
    send_pieces(fd, data, size, how);
    shutdown(fd, SHUT_WR);
    bool whole = read_all(fd, &in);
    close(fd);
    buf_puts(&in, "");
    check_answers(&in, data, size, !whole);
    buf_fini(&in);
    if (atomic_load_explicit(&f->room.taken, memory_order_relaxed))
        give_up(&in, "room is left behind");
    return 0;
}
