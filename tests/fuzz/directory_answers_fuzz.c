/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for what an LDAP server answers. The first HEAD_BYTES bytes choose. Then either bytes as they come over
 * the wire, or draws of which whole messages are made: results, entries, references, and messages of other requests.
 * The server says all of it at once, and then closes its side.
 *
 * Oracle      Somebody is let in only if the server said success to three binds: of the account, of the one entry that
 *             it had found, and of the account again; what it said is read here once more, by a reader of BER of our
 *             own. A person has a name and a DN, and no more groups than there may be; who is refused is refused with a
 *             reason, in which there is no password. The password is never sent for an entry that was not found, and
 *             nothing at all once the server refuses TLS.
 * Run: tools/fuzz directory_answers (-max_len=4000)
 */
#include "input.h"
#include "shardwheel/directory.h"
#include "shardwheel/resolver.h"
#include "shardwheel/text.h"

#include <errno.h>
#include <ldap.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAD_BYTES 2
#define ACCOUNT "cn=account,dc=a"
#define ACCOUNT_PASSWORD "acc0untpw"
#define PASSWORD "s3cr3tw0rd"
#define STREAM_MAX 150000 /* what the buffer of a socket takes at once */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __real_socket(int domain, int type, int protocol);
int __real_connect(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len);
int __real_ldap_result(LDAP *ld, int id, int all, struct timeval *wait, LDAPMessage **out);
int __real_ldap_msgfree(LDAPMessage *message);
int __wrap_ldap_result(LDAP *ld, int id, int all, struct timeval *wait, LDAPMessage **out);
int __wrap_ldap_msgfree(LDAPMessage *message);

/* libldap 2.5 loses what it has of a request when the answer is no BER: some 4 KB, of which nothing is ours to free. So
 * its messages are counted instead. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:liblber\n";
}

static int messages; /* that are ours to free */

int __wrap_ldap_result(LDAP *ld, int id, int all, struct timeval *wait, LDAPMessage **out)
{
    int type = __real_ldap_result(ld, id, all, wait, out);

    messages += type > 0 && *out;
    return type;
}

int __wrap_ldap_msgfree(LDAPMessage *message)
{
    messages -= message != NULL;
    return __real_ldap_msgfree(message);
}

static struct resolver *resolver;
static struct buf stream; /* what the server says */
static int server = -1;

/* ---- the connection ---------------------------------------------------------------------------------------------- */

int __wrap_socket(int domain, int type, int protocol)
{
    int ends[2];

    if ((domain != AF_INET && domain != AF_INET6) || !(type & SOCK_STREAM) || server >= 0)
        return __real_socket(domain, type, protocol);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return -1;
    server = ends[1];
    const int size = 4 * STREAM_MAX;
    setsockopt(server, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (stream.len && send(server, stream.data, stream.len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)stream.len)
        abort();
    shutdown(server, SHUT_WR);
    return ends[0];
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len)
{
    return to->sa_family == AF_INET || to->sa_family == AF_INET6 ? 0 : __real_connect(fd, to, len);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    signal(SIGPIPE, SIG_IGN);
    return resolver_create(clock_system(), &resolver, NULL) ? 1 : 0;
}

/* ---- BER, written ------------------------------------------------------------------------------------------------ */

static void put_element(struct buf *out, int tag, const char *data, size_t len)
{
    buf_putc(out, (char)tag);
    if (len >= 128) {
        buf_putc(out, (char)0x82);
        buf_putc(out, (char)(len >> 8));
    }
    buf_putc(out, (char)len);
    if (len)
        buf_append(out, data, len);
}

static void put_text(struct buf *out, int tag, const char *text)
{
    put_element(out, tag, text, strlen(text));
}

static void put_built(struct buf *out, int tag, struct buf *inner)
{
    put_element(out, tag, inner->data, inner->len);
    buf_fini(inner);
}

static void put_message(int id, int tag, struct buf *op)
{
    struct buf message = {0};
    const char number = (char)id;

    put_element(&message, 0x02, &number, 1);
    put_built(&message, tag, op);
    put_built(&stream, 0x30, &message);
}

static const char *draw_text(void)
{
    static const char *const texts[] = {
        "cn=ann,dc=a", "ann", "ANN",   "",  "ops",     "1.2.840.113556.1.4.800",    "cn=ops,dc=a", "cn=pay,dc=a",
        "\xff\xfe",    " ",   "\x01x", "*", "cn=A\\,", "80090308: ... data 533, x", PASSWORD,      "cn=account,dc=a"};
    return texts[draw(ARRAY_LEN(texts))];
}

static int draw_code(void)
{
    static const int codes[] = {0, 0, 0, 0, 0, 49, 32, 34, 53, 50, 10, 4, 11, 51, 52, 1, 87, 18, 3, 80, 14, 255};
    return codes[draw(ARRAY_LEN(codes))];
}

static void put_result(int id, int tag)
{
    struct buf op = {0};
    const char code = (char)draw_code();

    put_element(&op, 0x0a, &code, 1);
    put_text(&op, 0x04, draw(4) ? "" : draw_text());
    put_text(&op, 0x04, draw(2) ? "" : draw_text());
    put_message(id, tag, &op);
}

static void put_entry(int id)
{
    static const char *const names[] = {"uid", "UID", "entryUUID", "objectGUID", "cn", "supportedCapabilities", "x"};
    struct buf op = {0}, list = {0};

    put_text(&op, 0x04, draw(4) ? "cn=ann,dc=a" : draw_text());
    buf_append(&list, "", 0);
    for (unsigned i = draw(4); i > 0; i--) {
        struct buf attribute = {0}, values = {0};
        buf_append(&values, "", 0);
        put_text(&attribute, 0x04, names[draw(ARRAY_LEN(names))]);
        for (unsigned k = draw(3); k > 0; k--)
            put_text(&values, 0x04, draw_text());
        put_built(&attribute, 0x31, &values);
        put_built(&list, 0x30, &attribute);
    }
    put_built(&op, 0x30, &list);
    put_message(id, 0x64, &op);
}

static void put_reference(int id)
{
    struct buf op = {0};

    put_text(&op, 0x04, "ldap://evil.example/dc=a");
    put_message(id, 0x73, &op);
}

/* Messages up to the end of the input; ids go on with each result. */
static void build(bool starttls)
{
    int id = 1;

    if (starttls)
        put_result(id++, 0x78);
    while (input.left && stream.len < STREAM_MAX - 2000) {
        switch (draw(12)) {
        case 0:
        case 1:
        case 2: put_result(id++, 0x61); break;
        case 3:
        case 4: put_result(id++, 0x65); break;
        case 5:
        case 6:
        case 7: put_entry(id); break;
        case 8: put_reference(id); break;
        case 9: put_result((int)draw(12), draw(2) ? 0x61 : 0x65); break;
        case 10:
            for (unsigned i = draw(60); i > 0; i--)
                put_entry(id);
            break;
        case 11: buf_putc(&stream, (char)draw(256)); break;
        }
    }
}

/* ---- BER, read --------------------------------------------------------------------------------------------------- */

struct piece {
    const unsigned char *at, *end;
};

/* Takes the element at the head of `from`. False: there is no whole one. */
static bool take_element(struct piece *from, int *tag, struct piece *out)
{
    const unsigned char *p = from->at;
    size_t len, n;

    if (from->end - p < 2)
        return false;
    *tag = *p++;
    len = *p++;
    if (len & 0x80) {
        n = len & 0x7f;
        if (n < 1 || n > 4 || (size_t)(from->end - p) < n)
            return false;
        for (len = 0; n > 0; n--)
            len = len << 8 | *p++;
    }
    if (len > (size_t)(from->end - p))
        return false;
    *out = (struct piece){p, p + len};
    from->at = p + len;
    return true;
}

static bool read_number(const struct piece *p, int64_t *out)
{
    if (p->end == p->at || p->end - p->at > 4)
        return false;
    *out = (signed char)*p->at;
    for (const unsigned char *c = p->at + 1; c < p->end; c++)
        *out = *out * 256 + *c;
    return true;
}

/* How many messages with that id and tag (0: any) the server has sent; `success`: of these that say so. */
static int count_messages(int64_t wanted, int wanted_tag, bool success)
{
    struct piece all = {(const unsigned char *)stream.data, (const unsigned char *)stream.data + stream.len}, message,
                 id, op, code;
    int tag, found = 0;
    int64_t number;

    while (take_element(&all, &tag, &message)) {
        if (tag != 0x30 || !take_element(&message, &tag, &id) || !read_number(&id, &number) || number != wanted ||
            !take_element(&message, &tag, &op) || (wanted_tag && tag != wanted_tag))
            continue;
        if (success && (!take_element(&op, &tag, &code) || !read_number(&code, &number) || number != 0))
            continue;
        found++;
    }
    return found;
}

/* ---- what must hold ---------------------------------------------------------------------------------------------- */

static void check_person(const struct directory_person *p)
{
    must(count_messages(1, 0, true) && count_messages(3, 0, true) && count_messages(4, 0, true),
         "three binds that the server takes");
    must(count_messages(2, 0x64, false) == 1, "one entry");
    must(p->name && !str_is_blank(p->name) && p->dn && p->dn[0] && p->id, "a person");
    must(p->group_count <= DIRECTORY_GROUPS_MAX, "so many groups");
    for (size_t i = 0; i < p->group_count; i++)
        must(p->groups[i] && p->group_dns[i] && p->group_dns[i][0], "a group");
}

/* What was sent to the server. */
static void check_sent(enum directory_answer a, bool starttls, const char *name, const struct errctx *ec)
{
    static char sent[1 << 16];
    size_t len = 0;
    ssize_t n;

    while (server >= 0 && len < sizeof sent && (n = recv(server, sent + len, sizeof sent - len, MSG_DONTWAIT)) > 0)
        len += (size_t)n;
    if (starttls)
        must(!memmem(sent, len, ACCOUNT_PASSWORD, strlen(ACCOUNT_PASSWORD)) && a != DIRECTORY_YES,
             "nothing before TLS");
    if (memmem(sent, len, PASSWORD, strlen(PASSWORD)) && !strcmp(name, "ann"))
        must(count_messages(1, 0, true) && count_messages(2, 0, false), "a password for who was found, or for nobody");
    must(!strstr(ec->text, ACCOUNT_PASSWORD), "no password in a reason");
}

static void ask(uint8_t flags)
{
    bool starttls = flags & 1, check = flags & 2;
    const struct directory_opts opts = {.url = "ldap://127.0.0.1",
                                        .starttls = starttls,
                                        .ca_file = "",
                                        .bind_dn = ACCOUNT,
                                        .bind_password = ACCOUNT_PASSWORD,
                                        .base_dn = "dc=a",
                                        .user_filter = "(uid={user})",
                                        .name_attribute = "uid",
                                        .group_base_dn = "",
                                        .group_filter = flags & 4 ? "(member={dn})" : DIRECTORY_GROUP_FILTER,
                                        .group_attribute = "cn",
                                        .timeout_ms = 3000};
    const char *name = flags & 8 ? "\xc3\xa9va" : "ann";
    struct directory_person p = {0};
    struct directory *d = NULL;
    struct errctx ec = {{0}};
    enum directory_answer a;

    must(!directory_create(&opts, resolver, clock_system(), &d, &ec), ec.text);
    a = check ? directory_check(d, &ec) : directory_login(d, name, PASSWORD, &p, &ec);
    must(a == DIRECTORY_YES || ec.text[0], "a refusal without a reason");
    if (!check && a == DIRECTORY_YES)
        check_person(&p);
    if (check && a == DIRECTORY_YES)
        must(count_messages(1, 0, true) && count_messages(2, 0x64, false) > 0, "a check that was answered");
    check_sent(a, starttls, name, &ec);
    directory_person_fini(&p);
    directory_destroy(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES)
        return 0;
    buf_append(&stream, "", 0);
    input_begin(data + HEAD_BYTES, size - HEAD_BYTES);
    if (data[1] & 1)
        buf_append(&stream, (const char *)input.at, input.left);
    else
        build(data[0] & 1);
    ask(data[0]);
    must(messages == 0, "messages are freed");
    if (server >= 0)
        close(server);
    server = -1;
    buf_fini(&stream);
    return 0;
}
