/* SPDX-License-Identifier: MIT */
/* What doctor asks of the provider. */
#include "oidc/keys.h"
#include "oidc/oidc_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct examiner {
    struct oidc *o;
    void (*tell)(void *arg, enum oidc_finding finding, const char *text);
    void *arg;
};

static enum oidc_finding judge(enum err e, enum oidc_finding other)
{
    return e == ERR_DENIED ? OIDC_FINDING_CERTIFICATE : other;
}

static void examine_keys(const struct examiner *x, const struct oidc_places *places)
{
    struct errctx ec = {{0}};
    char *keys = NULL;
    enum err e = oidc_find_keys(x->o, places, /*newer=*/true, &keys, &ec);

    if (e) {
        x->tell(x->arg, judge(e, OIDC_FINDING_KEYS), ec.text);
        return;
    }
    if (keys_count(keys) <= 0) {
        err_set(&ec, ERR_INPUT, "%s has no key that can sign a token by RS, PS or ES (256, 384, 512)", places->keys);
        x->tell(x->arg, OIDC_FINDING_KEYS, ec.text);
    }
    free(keys);
}

static void examine_clock(const struct examiner *x, const struct fetch_answer *answer)
{
    int64_t ahead_s = answer->date_s - clock_wall_ms(x->o->clock) / 1000;
    struct errctx ec;

    if (answer->date_s < 0 || (ahead_s <= OIDC_SKEW_S + 1 && -ahead_s <= OIDC_SKEW_S + 1))
        return;
    err_set(&ec, ERR_INPUT, "the provider's clock is %" PRId64 " s %s this machine's, and %d s are allowed",
            ahead_s > 0 ? ahead_s : -ahead_s, ahead_s > 0 ? "ahead of" : "behind", OIDC_SKEW_S);
    x->tell(x->arg, OIDC_FINDING_CLOCK, ec.text);
}

/* A code that nobody has: who knows us says that the code is wrong, else that we are. */
static void examine_client(const struct examiner *x, const struct oidc_places *places)
{
    struct fetch_answer answer = {0};
    struct errctx ec = {{0}};
    struct buf form = {0};

    oidc_put_field(&form, "grant_type", "authorization_code");
    oidc_put_field(&form, "code", "asked-by-shardwheelctl-doctor");
    oidc_put_field(&form, "redirect_uri", "https://localhost/");
    oidc_put_field(&form, "code_verifier", "asked-by-shardwheelctl-doctor-asked-by-shardwheelctl-doctor");
    enum err e = buf_failed(&form) ? err_set(&ec, ERR_NOMEM, "out of memory")
                                   : oidc_ask_token(x->o, places, &form, &answer, &ec);
    if (e) {
        x->tell(x->arg, judge(e, OIDC_FINDING_AWAY), ec.text);
    } else {
        struct document *d = document_parse(answer.body.data);
        const char *error = d ? document_get_text(d, "error") : NULL;
        if (answer.status == 401 || (error && strstr(error, "_client"))) {
            err_set(&ec, ERR_INPUT, "the provider does not accept the client id and secret: %.100s",
                    error ? error : "401");
            x->tell(x->arg, OIDC_FINDING_CLIENT, ec.text);
        }
        document_destroy(d);
        examine_clock(x, &answer);
    }
    fetch_answer_fini(&answer);
    buf_fini(&form);
}

void oidc_examine(struct oidc *o, void (*tell)(void *arg, enum oidc_finding finding, const char *text), void *arg)
{
    struct examiner x = {o, tell, arg};
    struct oidc_places places;
    enum oidc_finding finding;
    struct errctx ec = {{0}};

    if (oidc_find_places(o, &places, &finding, &ec)) {
        tell(arg, finding, ec.text);
        return;
    }
    examine_keys(&x, &places);
    examine_client(&x, &places);
}
