/* SPDX-License-Identifier: MIT */
#include "directory/link.h"

#include "directory/answer.h"
#include "directory/dial.h"
#include "directory/reasons.h"
#include "directory/secure.h"
#include "shardwheel/resolver.h"
#include "shardwheel/text.h"

#include <errno.h>
#include <ldap.h>
#include <openldap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct link {
    struct link_opts opts;
    struct limit limit;
    LDAP *ld;
    struct secure *secure; /* NULL: plain */
    char where[280];       /* host and port, for texts */
};

/* ---- libldap ----------------------------------------------------------------------------------------------------- */

static bool set_options(struct link *l)
{
    const int version = LDAP_VERSION3, deref = LDAP_DEREF_NEVER;
    ber_len_t longest = LINK_MESSAGE_MAX;
    Sockbuf *socket = NULL;

    return ldap_set_option(l->ld, LDAP_OPT_PROTOCOL_VERSION, &version) == LDAP_OPT_SUCCESS &&
           ldap_set_option(l->ld, LDAP_OPT_REFERRALS, LDAP_OPT_OFF) == LDAP_OPT_SUCCESS &&
           ldap_set_option(l->ld, LDAP_OPT_RESTART, LDAP_OPT_ON) == LDAP_OPT_SUCCESS &&
           ldap_set_option(l->ld, LDAP_OPT_DEREF, &deref) == LDAP_OPT_SUCCESS &&
           ldap_get_option(l->ld, LDAP_OPT_SOCKBUF, &socket) == LDAP_OPT_SUCCESS &&
           ber_sockbuf_ctrl(socket, LBER_SB_OPT_SET_MAX_INCOMING, &longest) == 1;
}

/* A layer of libldap's that reads and writes for it, in the place of the socket's. */
static int layer_begin(Sockbuf_IO_Desc *d, void *arg)
{
    d->sbiod_pvt = arg;
    return 0;
}

static int layer_end(Sockbuf_IO_Desc *d)
{
    d->sbiod_pvt = NULL;
    return 0;
}

static int layer_ctrl(Sockbuf_IO_Desc *d, int what, void *arg)
{
    if (what == LBER_SB_OPT_DATA_READY)
        return secure_has_more(d->sbiod_pvt);
    return LBER_SBIOD_CTRL_NEXT(d, what, arg);
}

static ber_slen_t layer_read(Sockbuf_IO_Desc *d, void *out, ber_len_t size)
{
    return secure_read(d->sbiod_pvt, out, size);
}

static ber_slen_t layer_write(Sockbuf_IO_Desc *d, void *data, ber_len_t len)
{
    return secure_write(d->sbiod_pvt, data, len);
}

static int layer_close(Sockbuf_IO_Desc *d)
{
    (void)d;
    return 0;
}

static Sockbuf_IO layer = {layer_begin, layer_end, layer_ctrl, layer_read, layer_write, layer_close};

static enum directory_answer start_tls(struct link *l, int fd, const char *host, struct errctx *ec)
{
    Sockbuf *socket = NULL;
    enum directory_answer a = dial_set_blocking(fd, false)
                                  ? secure_start(fd, host, l->opts.ca_file, &l->limit, &l->secure, ec)
                                  : answer_no_memory(ec);

    if (a)
        return a;
    if (!dial_set_blocking(fd, true) || ldap_get_option(l->ld, LDAP_OPT_SOCKBUF, &socket) != LDAP_OPT_SUCCESS ||
        ber_sockbuf_add_io(socket, &layer, LBER_SBIOD_LEVEL_TRANSPORT, l->secure))
        return answer_no_memory(ec);
    return DIRECTORY_YES;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* The whole answer to a request; *out is freed with ldap_msgfree. */
static enum directory_answer wait_answer(struct link *l, int id, const char *what, LDAPMessage **out, struct errctx *ec)
{
    int type = 0;

    while (type == 0) {
        int wait_ms = limit_slice_ms(&l->limit);
        struct timeval slice = {.tv_usec = wait_ms * 1000};

        if (wait_ms == 0) {
            ldap_abandon_ext(l->ld, id, NULL, NULL);
            return answer_set(ec, DIRECTORY_AWAY, "%s: no answer in time (%s)", l->where, what);
        }
        errno = 0;
        type = ldap_result(l->ld, id, LDAP_MSG_ALL, &slice, out);
    }
    if (type > 0)
        return DIRECTORY_YES;
    if (errno == ERANGE) /* libldap says so, and ends the connection */
        return answer_set(ec, DIRECTORY_AWAY, "%s: a message of more than %d bytes (%s)", l->where, LINK_MESSAGE_MAX,
                          what);
    return answer_set(ec, DIRECTORY_AWAY, "%s: the connection ended (%s)", l->where, what);
}

#define WORDS_MAX 201 /* of the server's own words */

/* The code of the answer, with the server's own words. */
static int read_code(struct link *l, LDAPMessage *answer, char words[WORDS_MAX])
{
    char *text = NULL;
    int code = LDAP_OTHER;

    words[0] = '\0';
    if (ldap_parse_result(l->ld, answer, &code, NULL, &text, NULL, NULL, /*freeit=*/false) != LDAP_SUCCESS)
        code = LDAP_DECODING_ERROR;
    if (text)
        snprintf(words, WORDS_MAX, "%s", text);
    ldap_memfree(text);
    return code;
}

/* The same of a request that has one code as its whole answer. */
static enum directory_answer wait_code(struct link *l, int id, const char *what, int *code, char words[WORDS_MAX],
                                       struct errctx *ec)
{
    LDAPMessage *answer = NULL;
    enum directory_answer a = wait_answer(l, id, what, &answer, ec);

    if (!a)
        *code = read_code(l, answer, words);
    ldap_msgfree(answer);
    return a;
}

static enum directory_answer tell(const struct link *l, enum directory_answer answer, const char *what, int code,
                                  const char *words, struct errctx *ec)
{
    return answer_set(ec, answer, "%s: %s: %s%s%s", l->where, what, ldap_err2string(code), *words ? ": " : "", words);
}

/* LDAP_SERVER_DOWN and the like, of a request that could not be sent. */
static enum directory_answer tell_unsent(const struct link *l, const char *what, int code, struct errctx *ec)
{
    if (code == LDAP_NO_MEMORY)
        return answer_no_memory(ec);
    return tell(l, code == LDAP_FILTER_ERROR ? DIRECTORY_NO_FILTER : DIRECTORY_AWAY, what, code, "", ec);
}

/* ---- open -------------------------------------------------------------------------------------------------------- */

static enum directory_answer ask_starttls(struct link *l, struct errctx *ec)
{
    char words[WORDS_MAX];
    int id = 0, code = ldap_start_tls(l->ld, NULL, NULL, &id);

    if (code != LDAP_SUCCESS)
        return tell_unsent(l, "StartTLS", code, ec);
    enum directory_answer a = wait_code(l, id, "StartTLS", &code, words, ec);
    if (a)
        return a;
    return code == LDAP_SUCCESS ? DIRECTORY_YES : tell(l, DIRECTORY_NO_TLS, "StartTLS", code, words, ec);
}

/* `fd` is libldap's from now on, or closed. */
static enum directory_answer begin(struct link *l, const struct directory_url *url, int fd, struct errctx *ec)
{
    char text[300];
    bool v6 = strchr(url->host, ':') != NULL;
    enum directory_answer a = DIRECTORY_YES;

    snprintf(text, sizeof text, "%s://%s%s%s:%s", url->tls ? "ldaps" : "ldap", v6 ? "[" : "", url->host, v6 ? "]" : "",
             url->port);
    if (!dial_set_limits(fd) || ldap_init_fd(fd, LDAP_PROTO_TCP, text, &l->ld) != LDAP_SUCCESS) {
        close(fd);
        l->ld = NULL;
        return answer_no_memory(ec);
    }
    if (!set_options(l))
        return answer_no_memory(ec);
    if (!url->tls && l->opts.starttls)
        a = ask_starttls(l, ec);
    if (!a && (url->tls || l->opts.starttls))
        a = start_tls(l, fd, url->host, ec);
    return a;
}

static void hang_up(struct link *l)
{
    if (l->ld)
        ldap_unbind_ext(l->ld, NULL, NULL);
    secure_destroy(l->secure);
    l->ld = NULL;
    l->secure = NULL;
}

static enum directory_answer open_one(struct link *l, const struct directory_url *url, struct errctx *ec)
{
    char addresses[RESOLVER_TEXT_MAX];
    int64_t port = 0;

    snprintf(l->where, sizeof l->where, "%.250s:%s", url->host, url->port);
    (void)!parse_int(url->port, 1, 65535, &port); /* it was checked when it was read */
    if (resolver_await(l->opts.resolver, url->host, limit_slice_ms, &l->limit, addresses, ec))
        return DIRECTORY_AWAY;
    int fd = dial_any(addresses, (int)port, &l->limit, l->where, ec);
    if (fd < 0)
        return DIRECTORY_AWAY;
    enum directory_answer a = begin(l, url, fd, ec);
    if (a)
        hang_up(l);
    return a;
}

void link_prepare(void)
{
    int version;

    (void)ldap_get_option(NULL, LDAP_OPT_PROTOCOL_VERSION, &version);
}

/* One that is away leaves it to the next; what is wrong otherwise nobody would find out if the next one served. */
enum directory_answer link_open(const struct link_opts *opts, struct link **out, struct errctx *ec)
{
    struct link *l = calloc(1, sizeof *l);
    enum directory_answer a = DIRECTORY_AWAY;

    if (!l)
        return answer_no_memory(ec);
    l->opts = *opts;
    l->limit = opts->limit;
    for (size_t i = 0; i < opts->url_count && a == DIRECTORY_AWAY; i++) {
        l->limit.deadline_mono_ms = opts->limit.deadline_mono_ms;
        if (i > 0 && limit_left_ms(&l->limit) == 0)
            break;
        if (i + 1 < opts->url_count) /* half of the time for all that follow */
            l->limit.deadline_mono_ms -= limit_left_ms(&l->limit) / 2;
        a = open_one(l, &opts->urls[i], ec);
    }
    l->limit.deadline_mono_ms = opts->limit.deadline_mono_ms;
    if (a) {
        link_close(l);
        return a;
    }
    *out = l;
    return DIRECTORY_YES;
}

void link_close(struct link *l)
{
    if (!l)
        return;
    hang_up(l);
    free(l);
}

/* ---- bind -------------------------------------------------------------------------------------------------------- */

/* What says no to this name and password, and not to all. */
static bool is_refusal(int code)
{
    return code == LDAP_INVALID_CREDENTIALS || code == LDAP_NO_SUCH_OBJECT || code == LDAP_INVALID_DN_SYNTAX ||
           code == LDAP_INAPPROPRIATE_AUTH || code == LDAP_UNWILLING_TO_PERFORM || code == LDAP_CONSTRAINT_VIOLATION ||
           code == LDAP_INSUFFICIENT_ACCESS || code == LDAP_STRONG_AUTH_REQUIRED ||
           code == LDAP_CONFIDENTIALITY_REQUIRED;
}

enum directory_answer link_bind(struct link *l, const char *dn, const char *password, struct errctx *ec)
{
    struct berval secret = {.bv_val = (char *)password, .bv_len = strlen(password)}; /* libldap does not write to it */
    char words[WORDS_MAX];
    int id = 0;

    /* A name without a password would be taken for nobody, and answered with success. */
    if (*dn && !*password)
        return answer_set(ec, DIRECTORY_WRONG, "%s: there is no password", l->where);
    int code = ldap_sasl_bind(l->ld, dn, LDAP_SASL_SIMPLE, &secret, NULL, NULL, &id);
    if (code != LDAP_SUCCESS)
        return tell_unsent(l, "bind", code, ec);
    enum directory_answer a = wait_code(l, id, "bind", &code, words, ec);
    if (a)
        return a;
    if (code == LDAP_SUCCESS)
        return DIRECTORY_YES;
    if (code == LDAP_BUSY || code == LDAP_UNAVAILABLE)
        return tell(l, DIRECTORY_AWAY, "bind", code, words, ec);
    bool expired = false;
    const char *reason = code == LDAP_INVALID_CREDENTIALS ? reason_of_bind(words, &expired) : NULL;
    if (reason)
        return tell(l, expired ? DIRECTORY_EXPIRED : DIRECTORY_WRONG, reason, code, words, ec);
    return tell(l, is_refusal(code) ? DIRECTORY_WRONG : DIRECTORY_STRANGE, "bind", code, words, ec);
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

void link_entries_fini(struct link_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        struct link_entry *e = &entries->list[i];

        for (size_t k = 0; k < e->value_count; k++)
            free(e->values[k].text);
        free(e->values);
        free(e->dn);
    }
    free(entries->list);
    *entries = (struct link_entries){0};
}

const char *link_find(const struct link_entry *entry, size_t attribute)
{
    for (size_t i = 0; i < entry->value_count; i++) {
        if (entry->values[i].attribute == attribute)
            return entry->values[i].text;
    }
    return NULL;
}

static char *copy_value(const struct berval *value)
{
    struct buf out = {0};

    buf_puts(&out, "");
    if (utf8_is_valid(value->bv_val, value->bv_len) && !memchr(value->bv_val, '\0', value->bv_len))
        buf_append(&out, value->bv_val, value->bv_len);
    else
        buf_put_hex(&out, value->bv_val, value->bv_len);
    return buf_take(&out);
}

static bool read_attribute(struct link *l, LDAPMessage *message, const char *name, size_t attribute,
                           struct link_entry *out)
{
    struct berval **values = ldap_get_values_len(l->ld, message, name);
    int count = ldap_count_values_len(values);
    bool good = true;

    for (int i = 0; i < count && good; i++) {
        bool room = list_grow(&out->values, out->value_count, sizeof *out->values);
        char *text = room ? copy_value(values[i]) : NULL;

        good = text != NULL;
        if (good)
            out->values[out->value_count++] = (struct link_value){attribute, text};
    }
    ldap_value_free_len(values);
    return good;
}

static bool read_entry(struct link *l, LDAPMessage *message, const struct link_query *query, struct link_entries *out)
{
    if (!list_grow(&out->list, out->count, sizeof *out->list))
        return false;
    struct link_entry *e = &out->list[out->count++];
    char *dn = ldap_get_dn(l->ld, message);
    *e = (struct link_entry){.dn = dn ? str_copy(dn) : NULL};
    ldap_memfree(dn);
    bool good = e->dn != NULL;
    for (size_t i = 0; i < LINK_ATTRIBUTES_MAX && query->attributes[i] && good; i++)
        good = read_attribute(l, message, query->attributes[i], i, e);
    return good;
}

static enum directory_answer judge_search(struct link *l, const struct link_query *query, int code, const char *words,
                                          struct errctx *ec)
{
    if (code == LDAP_NO_SUCH_OBJECT || code == LDAP_INVALID_DN_SYNTAX || code == LDAP_REFERRAL)
        return answer_set(ec, DIRECTORY_NO_BASE, "%s: %.200s is not there: %s", l->where,
                          *query->base ? query->base : "\"\"", ldap_err2string(code));
    if (code == LDAP_FILTER_ERROR || code == LDAP_INAPPROPRIATE_MATCHING || code == LDAP_UNDEFINED_TYPE)
        return tell(l, DIRECTORY_NO_FILTER, "search", code, words, ec);
    if (code == LDAP_BUSY || code == LDAP_UNAVAILABLE || code == LDAP_TIMELIMIT_EXCEEDED || code == LDAP_TIMEOUT)
        return tell(l, DIRECTORY_AWAY, "search", code, words, ec);
    return tell(l, DIRECTORY_STRANGE, "search", code, words, ec);
}

static enum directory_answer read_answer(struct link *l, LDAPMessage *answer, const struct link_query *query,
                                         struct link_entries *out, struct errctx *ec)
{
    bool good = true;
    int code = LDAP_OTHER;
    char words[WORDS_MAX] = "";

    /* References to other servers are among the messages; they are left where they are. */
    for (LDAPMessage *m = ldap_first_message(l->ld, answer); m && good; m = ldap_next_message(l->ld, m)) {
        if (ldap_msgtype(m) == LDAP_RES_SEARCH_ENTRY)
            good = read_entry(l, m, query, out);
        else if (ldap_msgtype(m) == LDAP_RES_SEARCH_RESULT)
            code = read_code(l, m, words);
    }
    if (!good)
        return answer_no_memory(ec);
    out->cut = code == LDAP_SIZELIMIT_EXCEEDED || code == LDAP_ADMINLIMIT_EXCEEDED;
    return code == LDAP_SUCCESS || out->cut ? DIRECTORY_YES : judge_search(l, query, code, words, ec);
}

enum directory_answer link_search(struct link *l, const struct link_query *query, struct link_entries *out,
                                  struct errctx *ec)
{
    char *names[LINK_ATTRIBUTES_MAX + 1] = {0};
    char none[] = LDAP_NO_ATTRS;
    struct timeval limit = {.tv_sec = limit_left_ms(&l->limit) / 1000 + 1};
    LDAPMessage *answer = NULL;
    int id = 0;

    *out = (struct link_entries){0};
    for (size_t i = 0; i < LINK_ATTRIBUTES_MAX && query->attributes[i]; i++)
        names[i] = (char *)query->attributes[i]; /* libldap writes to none of them */
    if (!names[0])
        names[0] = none;
    int code = ldap_search_ext(l->ld, query->base, query->only_base ? LDAP_SCOPE_BASE : LDAP_SCOPE_SUBTREE,
                               query->filter, names, 0, NULL, NULL, &limit, query->limit, &id);
    if (code != LDAP_SUCCESS)
        return tell_unsent(l, "search", code, ec);
    enum directory_answer a = wait_answer(l, id, "search", &answer, ec);
    if (!a)
        a = read_answer(l, answer, query, out, ec);
    ldap_msgfree(answer);
    if (a)
        link_entries_fini(out);
    return a;
}
