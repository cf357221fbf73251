/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "load_executor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "load_executor: an xxl-job executor for load runs\n"
    "\n"
    "  --listen IP:PORT           first address; the others follow on the next ports (127.0.0.1:20000)\n"
    "  --addresses N              number of addresses (1)\n"
    "  --admin URL[,URL...]       admins to register with, tried in order, e.g. http://127.0.0.1:8080/xxl-job-admin\n"
    "                             (without one: neither registers nor calls back)\n"
    "  --app-name NAME            group to register for (bench)\n"
    "  --token TEXT               access token, sent and required\n"
    "  --generation run|trigger   path that starts a job; trigger also sends the appname header (run)\n"
    "  --arrivals FILE            CSV file that each arrival is appended to\n"
    "  --confirmed FILE           CSV file that each result is appended to when an admin has confirmed it\n"
    "  --batch N                  results in one callback, at most (50)\n"
    "  --callback-connections N   callbacks under way at a time (one for each address, 256 at most)\n"
    "  --callback-delay-ms N      time from arrival to result (0)\n"
    "  --callback-form array|object\n"
    "  --admin-timeout-ms N       wait for the admin's answers (3000)\n"
    "  --max-pending N            results that may wait; runs beyond are refused (5000000)\n"
    "  --results FILE             call these back at once, as fast as they are answered: a line for each, "
    "LOG_ID,DATE_MS\n"
    "  --beats N                  be no executor, but the registrations of N others, all at once, each by a connection "
    "of\n"
    "                             its own (0)\n"
    "  --rounds R                 as often as that, one round when the one before is answered (1)\n"
    "  --log-lines N              of each run, given to who asks for its log (1)\n"
    "misbehaviour:\n"
    "  --answer-delay-ms N        answer each request that late (0)\n"
    "  --slow-addresses K         only the last K addresses answer late (0: all of them)\n"
    "  --fail-percent P           so many runs end with handleCode 500 (0)\n"
    "  --refuse-percent P         so many runs are refused with code 500, no result follows (0)\n"
    "  --silent-addresses K       the first K addresses read, note the arrival and never answer (0)\n"
    "  --close-addresses K        the next K addresses close the connection instead of answering (0)\n"
    "\n"
    "SIGTERM sends the results that are left (5 s at most), prints one JSON line of counters and ends with 0.\n";

static int parse_int(const char *name, const char *text, int least, int most)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(text, &end, 10);
    if (errno || end == text || *end || n < least || n > most)
        die("--%s: '%s' is not a whole number from %d to %d", name, text, least, most);
    return (int)n;
}

static bool parse_choice(const char *name, const char *text, const char *no, const char *yes)
{
    if (strcmp(text, yes) == 0)
        return true;
    if (strcmp(text, no) != 0)
        die("--%s: '%s' is neither '%s' nor '%s'", name, text, no, yes);
    return false;
}

static void parse_listen(const char *text, struct options *o)
{
    const char *colon = strrchr(text, ':');
    struct in_addr ip;
    size_t len = colon ? (size_t)(colon - text) : 0;

    if (!colon || len == 0 || len >= sizeof(o->listen_ip))
        die("--listen: '%s' is not IP:PORT", text);
    memcpy(o->listen_ip, text, len);
    o->listen_ip[len] = '\0';
    if (inet_pton(AF_INET, o->listen_ip, &ip) != 1)
        die("--listen: '%s' is not an IPv4 address", o->listen_ip);
    o->port = parse_int("listen", colon + 1, 1, 65535);
}

static void parse_admin(const char *text, size_t len, struct admin_address *a)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char name[128];
    const char *port = "80";
    char *colon;
    size_t host_len;
    int rc;

    if (len >= sizeof(a->url))
        die("--admin: the URL is longer than %zu characters", sizeof(a->url) - 1);
    memcpy(a->url, text, len);
    a->url[len] = '\0';
    if (strncmp(a->url, "http://", 7) != 0)
        die("--admin: '%s' does not begin with http://", a->url);
    host_len = strcspn(a->url + 7, "/");
    if (host_len == 0 || host_len >= sizeof(a->host) || strlen(a->url + 7 + host_len) >= sizeof(a->path))
        die("--admin: '%s' has no host or is too long", a->url);
    memcpy(a->host, a->url + 7, host_len);
    a->host[host_len] = '\0';
    strcpy(a->path, a->url + 7 + host_len);
    while (a->path[0] && a->path[strlen(a->path) - 1] == '/')
        a->path[strlen(a->path) - 1] = '\0';
    strcpy(name, a->host);
    colon = strrchr(name, ':');
    if (colon) {
        *colon = '\0';
        port = colon + 1;
    }
    rc = getaddrinfo(name, port, &hints, &found);
    if (rc)
        die("--admin: cannot resolve '%s': %s", a->host, gai_strerror(rc));
    memcpy(&a->addr, found->ai_addr, found->ai_addrlen);
    a->addr_len = found->ai_addrlen;
    freeaddrinfo(found);
}

static void parse_admins(const char *text, struct options *o)
{
    for (;;) {
        size_t len = strcspn(text, ",");

        if (o->admin_count == MAX_ADMINS)
            die("--admin: more than %d addresses", MAX_ADMINS);
        parse_admin(text, len, &o->admins[o->admin_count++]);
        if (text[len] == '\0')
            return;
        text += len + 1;
    }
}

/* These go into headers and JSON texts as they are. */
static const char *parse_plain(const char *name, const char *text)
{
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\')
            die("--%s: '%s' holds a quote, a backslash or a control character", name, text);
    }
    return text;
}

enum { CONNECTIONS_MOST = 256 }; /* that are made without being asked for */

enum {
    OPT_LISTEN = 1,
    OPT_ADDRESSES,
    OPT_ADMIN,
    OPT_APP_NAME,
    OPT_TOKEN,
    OPT_GENERATION,
    OPT_ARRIVALS,
    OPT_CONFIRMED,
    OPT_BATCH,
    OPT_CONNECTIONS,
    OPT_CALLBACK_DELAY,
    OPT_FORM,
    OPT_ADMIN_TIMEOUT,
    OPT_MAX_PENDING,
    OPT_ANSWER_DELAY,
    OPT_FAIL,
    OPT_REFUSE,
    OPT_SILENT,
    OPT_SLOW,
    OPT_RESULTS,
    OPT_BEATS,
    OPT_ROUNDS,
    OPT_CLOSE,
    OPT_LOG_LINES,
    OPT_HELP,
};

static const struct option long_options[] = {
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"addresses", required_argument, NULL, OPT_ADDRESSES},
    {"admin", required_argument, NULL, OPT_ADMIN},
    {"app-name", required_argument, NULL, OPT_APP_NAME},
    {"token", required_argument, NULL, OPT_TOKEN},
    {"generation", required_argument, NULL, OPT_GENERATION},
    {"arrivals", required_argument, NULL, OPT_ARRIVALS},
    {"confirmed", required_argument, NULL, OPT_CONFIRMED},
    {"batch", required_argument, NULL, OPT_BATCH},
    {"callback-connections", required_argument, NULL, OPT_CONNECTIONS},
    {"callback-delay-ms", required_argument, NULL, OPT_CALLBACK_DELAY},
    {"callback-form", required_argument, NULL, OPT_FORM},
    {"admin-timeout-ms", required_argument, NULL, OPT_ADMIN_TIMEOUT},
    {"max-pending", required_argument, NULL, OPT_MAX_PENDING},
    {"answer-delay-ms", required_argument, NULL, OPT_ANSWER_DELAY},
    {"fail-percent", required_argument, NULL, OPT_FAIL},
    {"refuse-percent", required_argument, NULL, OPT_REFUSE},
    {"silent-addresses", required_argument, NULL, OPT_SILENT},
    {"slow-addresses", required_argument, NULL, OPT_SLOW},
    {"results", required_argument, NULL, OPT_RESULTS},
    {"beats", required_argument, NULL, OPT_BEATS},
    {"rounds", required_argument, NULL, OPT_ROUNDS},
    {"log-lines", required_argument, NULL, OPT_LOG_LINES},
    {"close-addresses", required_argument, NULL, OPT_CLOSE},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static void apply_option(struct options *o, int id, const char *name, const char *text)
{
    switch (id) {
    case OPT_LISTEN: parse_listen(text, o); break;
    case OPT_ADDRESSES: o->addresses = parse_int(name, text, 1, 60000); break;
    case OPT_ADMIN: parse_admins(text, o); break;
    case OPT_APP_NAME: o->app_name = parse_plain(name, text); break;
    case OPT_TOKEN: o->token = parse_plain(name, text); break;
    case OPT_GENERATION: o->path_is_trigger = parse_choice(name, text, "run", "trigger"); break;
    case OPT_ARRIVALS: o->arrivals_path = text; break;
    case OPT_CONFIRMED: o->confirmed_path = text; break;
    case OPT_BATCH: o->batch = parse_int(name, text, 1, 100000); break;
    case OPT_CONNECTIONS: o->callback_connections = parse_int(name, text, 1, 1000); break;
    case OPT_CALLBACK_DELAY: o->callback_delay_us = parse_int(name, text, 0, INT_MAX) * INT64_C(1000); break;
    case OPT_FORM: o->callback_is_object = parse_choice(name, text, "array", "object"); break;
    case OPT_ADMIN_TIMEOUT: o->admin_timeout_us = parse_int(name, text, 1, INT_MAX) * INT64_C(1000); break;
    case OPT_MAX_PENDING: o->max_pending = parse_int(name, text, 1, 100000000); break;
    case OPT_ANSWER_DELAY: o->answer_delay_us = parse_int(name, text, 0, INT_MAX) * INT64_C(1000); break;
    case OPT_FAIL: o->fail_percent = parse_int(name, text, 0, 100); break;
    case OPT_REFUSE: o->refuse_percent = parse_int(name, text, 0, 100); break;
    case OPT_SILENT: o->silent_addresses = parse_int(name, text, 0, 60000); break;
    case OPT_SLOW: o->slow_addresses = parse_int(name, text, 0, 60000); break;
    case OPT_RESULTS: o->results_path = text; break;
    case OPT_BEATS: o->beats = parse_int(name, text, 0, 1000000); break;
    case OPT_ROUNDS: o->rounds = parse_int(name, text, 1, 1000); break;
    case OPT_LOG_LINES: o->log_lines = parse_int(name, text, 1, 100000); break;
    case OPT_CLOSE: o->close_addresses = parse_int(name, text, 0, 60000); break;
    case OPT_HELP: fputs(usage, stdout); exit(0);
    default: die("unknown option, see --help"); /* getopt has named it */
    }
}

void options_parse(int argc, char **argv, struct options *o)
{
    int index = 0;
    int id;

    *o = (struct options){
        .listen_ip = "127.0.0.1",
        .port = 20000,
        .addresses = 1,
        .app_name = "bench",
        .token = "",
        .batch = 50,
        .callback_connections = 0,
        .admin_timeout_us = 3000000,
        .max_pending = 5000000,
        .rounds = 1,
        .log_lines = 1,
    };
    while ((id = getopt_long(argc, argv, "", long_options, &index)) != -1)
        apply_option(o, id, id == '?' ? "" : long_options[index].name, optarg);
    if (optind < argc)
        die("'%s' is no option, see --help", argv[optind]);
    if (o->port + o->addresses - 1 > 65535)
        die("--addresses: %d ports from %d on end beyond 65535", o->addresses, o->port);
    if (o->silent_addresses + o->close_addresses + o->slow_addresses > o->addresses)
        die("--silent-addresses, --close-addresses and --slow-addresses are more than the %d addresses", o->addresses);
    if ((o->beats || o->results_path) && o->admin_count == 0)
        die("--beats and --results need an --admin");
    if (o->callback_connections == 0)
        o->callback_connections = o->addresses < CONNECTIONS_MOST ? o->addresses : CONNECTIONS_MOST;
    if (o->fail_percent + o->refuse_percent > 100)
        die("--fail-percent and --refuse-percent are more than 100 together");
}
