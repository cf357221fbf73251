/* SPDX-License-Identifier: MIT */
/* dial: one question to a TCP port, and all that comes back. For ZooKeeper's four-letter words and pages of nodes. */
#ifndef CTL_DOCTOR_DIAL_H
#define CTL_DOCTOR_DIAL_H

#include "shardwheel/base.h"
#include "shardwheel/http/tls.h"

#define DIAL_ANSWER_MAX (256 * 1024)

/* Connects, sends, reads until the other end closes; all within wait_ms, but for the look-up of a name. The answer is
 * appended. ERR_LOST or ERR_TIMEOUT says where it ended. */
MUST_CHECK enum err dial_ask(const char *host, const char *port, const char *request, int wait_ms,
                             const struct clock *clock, struct buf *answer, struct errctx *ec);

/* What https showed besides its answer. */
struct dial_certificate {
    bool shown; /* false: it was plain HTTP */
    bool names_host;
    struct tls_facts facts;
};
/* The body that "http://host:port/..." or "https://..." answers to a GET of `path` behind it, whatever its status and
 * its certificate. ERR_INPUT: another form of URL. */
MUST_CHECK enum err dial_get(const char *url, const char *path, int wait_ms, const struct clock *clock,
                             struct buf *body, struct dial_certificate *certificate, struct errctx *ec);

/* Pure: "host:port", also "[v6]:port", taken apart. False when it is none. */
bool dial_split(const char *text, size_t len, char host[280], char port[8]);

#endif
