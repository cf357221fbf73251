/* SPDX-License-Identifier: MIT */
/* The process: command line, signals, service manager. What a node consists of is in node.c. */
#include "shardwheel/ctl.h"
#include "node/node.h"
#include "node/watchdog.h"
#include "shardwheel/admin/outside.h"
#include "shardwheel/admin/weak.h"
#include "shardwheel/job/times.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <time.h>

#define GUARD_MS 60000     /* more than a Java admin waits for its lock, 50 s */
#define NOTES_PER_LINE 600 /* characters: log_quote cuts at 700, and escapes some */
#define TICK_NS 200000000
#define TABLE_BYTES (64 * 1024)
#define LARGE_BYTES (512 * 1024)

extern char **environ;

static void apply_log(const struct config *config)
{
    enum log_level levels[LOG_AREA_COUNT];

    log_set_format(config->log_format);
    if (log_parse_levels(config->log_levels, config->log_level, levels, NULL) == ERR_OK) /* looked at by config */
        log_set_levels(levels);
}

static void log_ignored(struct buf *keys)
{
    if (keys->len)
        log_info("config", "event=keys_without_meaning_here keys=%s", log_quote(keys->data).s);
    buf_clear(keys);
}

/* Keys without meaning are named all, in as many lines as it takes: a line that is too long is cut. */
static void log_notes(const struct config *config)
{
    size_t count;
    const struct config_note *notes = config_get_notes(config, &count);
    struct buf ignored = {0};

    for (size_t i = 0; i < count; i++) {
        if (notes[i].kind != CONFIG_NOTE_IGNORED) {
            log_warn("config", "note=%s", log_quote(notes[i].text).s);
            continue;
        }
        if (ignored.len + strlen(notes[i].text) > NOTES_PER_LINE)
            log_ignored(&ignored);
        buf_printf(&ignored, "%s%s", ignored.len ? ", " : "", notes[i].text);
    }
    log_ignored(&ignored);
    buf_fini(&ignored);
}

static void log_key(void *arg, const char *key, const char *value, const char *source)
{
    (void)arg;
    log_debug("config", "key=%s value=%s source=%s", key, log_quote(value).s, log_quote(source).s);
}

static int fail(const struct errctx *ec)
{
    log_error("main", "event=failed error=%s", log_quote(ec->text).s);
    return EXIT_FAILURE;
}

static int print(struct buf *text)
{
    bool ok = !buf_failed(text) && fputs(text->data, stdout) >= 0;

    buf_fini(text);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A bad file leaves the present config in force. The old one stays until the end: others may still read its strings. */
static struct config *reload(struct node *node, struct config *current, int argc, char **argv)
{
    struct config *fresh = NULL;
    struct errctx ec = {0};

    watchdog_tell_reload();
    if (config_reload(current, argc, argv, environ, &fresh, &ec) || weak_check_strict(fresh, &ec) ||
        outside_check_config(fresh, &ec)) {
        config_destroy(fresh);
        log_error("config", "event=reload_refused error=%s effect=\"the old settings stay in use\"",
                  log_quote(ec.text).s);
        watchdog_tell("READY=1");
        return current;
    }
    apply_log(fresh);
    log_notes(fresh);
    node_apply(node, fresh);
    log_info("config", "event=reloaded");
    watchdog_tell("READY=1");
    return fresh;
}

static int next_signal(const sigset_t *set)
{
    struct timespec ts = {.tv_nsec = TICK_NS};

    return sigtimedwait(set, NULL, &ts);
}

/* Each executor may need several connections at once; the usual soft limit of 1,024 is for select(2). */
static void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log_warn("main", "event=file_limit error=%s", log_quote(strerror(errno)).s);
}

/* The memory has passwords and tokens in it: no crash writes it to a file, and no other process of the same user may
 * look into it. Programs that are started from here write none either. */
static void forbid_core_dumps(void)
{
    struct rlimit none = {0, 0};

    if (setrlimit(RLIMIT_CORE, &none) != 0 && (getrlimit(RLIMIT_CORE, &none) != 0 || none.rlim_max != 0))
        log_warn("main", "event=core_limit error=%s", log_quote(strerror(errno)).s);
    if (prctl(PR_SET_DUMPABLE, 0) != 0)
        log_warn("main", "event=core_dumps error=%s", log_quote(strerror(errno)).s);
}

/* Tables that are allocated at the start have pages of their own: a page takes memory only when it is written to, and
 * most of them never are. Threads share few arenas: each keeps what was the most there once. With the allocator's eight
 * for a processor, 7 MB that are in use became 80 within an hour. */
static void share_memory(void)
{
    int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);

    mallopt(M_ARENA_MAX, 2 * (processors > 2 ? processors : 2));
    mallopt(M_MMAP_THRESHOLD, TABLE_BYTES);
    mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
}

/* From now on only large pieces, bodies above all, have pages of their own, which the system gets back when they are
 * freed: new pages cost time, and statements come and go. Left to itself the allocator learns to keep large pieces:
 * after sixteen bodies of 12 MiB the process stayed at 800 MB. */
static void give_memory_back(void)
{
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
}

/* Waits until is_done; false after the time, and when a second signal ends the patience. */
static bool wait_for_node(struct node *node, bool (*is_done)(struct node *node), int64_t ms, const char *late,
                          const sigset_t *set)
{
    const struct clock *clock = clock_system();
    int64_t deadline_ms = clock_mono_ms(clock) + ms;

    while (!is_done(node)) {
        int sig;

        if (!node_is_alive(node))
            return false;
        if (clock_mono_ms(clock) >= deadline_ms) {
            log_warn("main", "%s", late);
            return false;
        }
        sig = next_signal(set);
        if (sig == SIGTERM || sig == SIGINT) {
            log_warn("main", "event=second_signal effect=\"the node stops at once\"");
            return false;
        }
    }
    return true;
}

/* Hands the shards over, then waits until nobody needs our guard. */
static void drain(struct node *node, struct watchdog *watchdog, const sigset_t *set)
{
    watchdog_set_status(watchdog, "stopping: handing over its shards");
    if (wait_for_node(node, node_drain, STOP_DRAIN_MS,
                      "event=drain_timeout effect=\"other nodes take the shards that were not handed over\"", set)) {
        watchdog_set_status(watchdog, "stopping: keeping Java admins on standby until another node does");
        (void)wait_for_node(
            node, node_may_end_guard, GUARD_MS,
            "event=guard_timeout effect=\"Java admins may plan before another node keeps them on standby\"", set);
    }
}

static int run(struct config *config, int argc, char **argv)
{
    struct config *first = config;
    struct node *node = NULL;
    struct watchdog *watchdog = NULL;
    struct errctx ec = {0};
    sigset_t set;
    int status = EXIT_SUCCESS;

    /* Blocked before any thread exists, so that the loop below is the only one that sees them. */
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    raise_file_limit();
    share_memory();
    watchdog_tell("STATUS=starting");
    if (node_start(config, &node, &ec))
        return fail(&ec);
    give_memory_back();
    watchdog_tell("READY=1");
    if (watchdog_start(node, &watchdog, &ec)) {
        node_stop(node);
        return fail(&ec);
    }
    for (;;) {
        int sig = next_signal(&set);

        if (sig == SIGTERM || sig == SIGINT)
            break;
        if (sig == SIGHUP) {
            struct config *fresh = reload(node, config, argc, argv);

            if (fresh != config && config != first)
                config_destroy(config);
            config = fresh;
        }
        if (!node_is_alive(node)) {
            log_error("main", "event=private_database_ended effect=\"this node stops\"");
            status = EXIT_FAILURE;
            break;
        }
        node_follow(node);
    }
    log_info("main", "event=stopping");
    watchdog_tell("STOPPING=1");
    if (status == EXIT_SUCCESS)
        drain(node, watchdog, &set);
    watchdog_stop(watchdog);
    watchdog_tell("STATUS=stopping: waiting for what is in progress");
    node_stop(node);
    log_info("main", "event=stopped");
    if (config != first)
        config_destroy(config);
    return status;
}

int main(int argc, char **argv)
{
    struct config *config = NULL;
    struct buf text = {0};
    struct errctx ec = {0};
    int status = EXIT_SUCCESS;
    enum err e;

    e = config_load(argc, argv, environ, &config, &ec);
    if (e) {
        if (config_is_ctl(argc, argv))
            return ctl_fail_usage(argc, argv, &ec);
        (void)fail(&ec);
        /* What is wrong stays wrong: the service manager does not try again. A file may come later. */
        return e == ERR_INPUT ? EX_CONFIG : EXIT_FAILURE;
    }
    apply_log(config);
    if (!config->core_dumps)
        forbid_core_dumps();
    switch (config->command) {
    case CONFIG_HELP:
        if (config->is_ctl)
            config_write_ctl_usage(&text);
        else
            config_write_usage(&text);
        status = print(&text);
        break;
    case CONFIG_HELP_CONFIG:
        config_write_help(config->help_format, &text);
        status = print(&text);
        break;
    case CONFIG_VERSION: printf("shardwheel %s\n", SHARDWHEEL_VERSION); break;
    case CONFIG_INSTALL_SCHEMA:
        log_notes(config);
        if (node_install_schema(config, &ec))
            status = fail(&ec);
        break;
    case CONFIG_CTL: status = ctl_run(config); break;
    case CONFIG_RUN:
        log_notes(config);
        config_list(config, log_key, NULL);
        status = run(config, argc, argv);
        break;
    }
    config_destroy(config);
    return status;
}
