/* SPDX-License-Identifier: MIT */
#include "config/original.h"

#include "config/settings.h"

#define FILES "not followed: name each file with --config or spring.config.additional-location"

/* The first row that fits counts: exceptions stand before what they are taken from. */
static const struct original_row rows[] = {
    {"server.address", ORIGINAL_ALIAS, "shardwheel.http.bind"},
    {"spring.config.location", ORIGINAL_LOADER, "files to read instead of the default files"},
    {"spring.config.additional-location", ORIGINAL_LOADER, "files to read after the default files"},
    {"spring.config.import", ORIGINAL_LOADER, "folders with one file per key: configtree:/DIR/"},
    {"spring.profiles.active", ORIGINAL_LOADER, "also read application-PROFILE.properties next to the default files"},
    {"spring.config.", ORIGINAL_WARNED, FILES},
    {"spring.profiles.", ORIGINAL_WARNED, FILES},
    {"spring.application.json", ORIGINAL_WARNED, "not read: write its keys into a file or the environment"},
    {"server.ssl.protocol", ORIGINAL_IGNORED, "TLS 1.2 and 1.3 are served"},
    {"server.ssl.enabled-protocols", ORIGINAL_WARNED, "TLS 1.2 and 1.3 are served"},
    {"server.ssl.ciphers", ORIGINAL_WARNED, "ciphers are fixed: ECDHE with AES-GCM or ChaCha20, and those of TLS 1.3"},
    {"server.ssl.key-store-provider", ORIGINAL_IGNORED, "of Java"},
    {"server.ssl.trust-store-provider", ORIGINAL_IGNORED, "of Java"},
    {"server.ssl.", ORIGINAL_REFUSED,
     "write server.ssl.certificate and server.ssl.certificate-private-key, or server.ssl.key-store"},
    {"spring.datasource.jndi-name", ORIGINAL_REFUSED, "write spring.datasource.url"},
    {"spring.datasource.hikari.jdbc-url", ORIGINAL_REFUSED, "write spring.datasource.url"},
    {"spring.datasource.hikari.username", ORIGINAL_REFUSED, "write spring.datasource.username"},
    {"spring.datasource.hikari.password", ORIGINAL_REFUSED, "write spring.datasource.password"},

    {"spring.datasource.druid.", ORIGINAL_IGNORED, "this connection pool is not used"},
    {"spring.datasource.tomcat.", ORIGINAL_IGNORED, "this connection pool is not used"},
    {"spring.datasource.dbcp2.", ORIGINAL_IGNORED, "this connection pool is not used"},
    {"spring.datasource.type", ORIGINAL_IGNORED, "this connection pool is not used"},
    {"spring.datasource.name", ORIGINAL_IGNORED, "internal to Spring"},
    {"spring.mail.properties.mail.smtps.", ORIGINAL_IGNORED, "of xxl-job's mail library: see .mail.smtp."},
    {"xxl.job.triggerpool.fast.max", ORIGINAL_IGNORED, "two event loops send all fires"},
    {"xxl.job.triggerpool.slow.max", ORIGINAL_IGNORED, "two event loops send all fires"},
    {"xxl.job.schedule.batchsize", ORIGINAL_IGNORED, "batches need no setting"},
    {"management.", ORIGINAL_IGNORED, "health is always at /actuator/health"},
    {"mybatis.", ORIGINAL_IGNORED, "internal to xxl-job"},
    {"mybatis-plus.", ORIGINAL_IGNORED, "internal to xxl-job"},
    {"logging.", ORIGINAL_IGNORED, "see shardwheel.log.level"},
    {"info.", ORIGINAL_IGNORED, "texts of xxl-job's info page"},
    {"xxl-sso.", ORIGINAL_IGNORED, "of xxl-job's login"},
    {"debug", ORIGINAL_IGNORED, "see shardwheel.log.level"},
    {"trace", ORIGINAL_IGNORED, "see shardwheel.log.level"},

    {"shardwheel.http.max-body", ORIGINAL_WARNED, "the body of a callback may have 64 MiB"},
    {"shardwheel.dispatch.threads", ORIGINAL_WARNED, "two event loops send all fires"},
    {"shardwheel.dispatch.queue-max", ORIGINAL_WARNED, "200,000 fires can wait for their executors"},
    {"shardwheel.dispatch.per-address", ORIGINAL_WARNED,
     "an executor gets up to 64 requests at a time, and 4 while it is slow"},
    {"shardwheel.results.queue-max", ORIGINAL_WARNED, "200,000 results can wait to be written"},
    {"shardwheel.oidc.clock-skew", ORIGINAL_WARNED, "the clocks of the provider and of a node may differ by 60 s"},
    {"shardwheel.kept-logs-per-second", ORIGINAL_WARNED, "a node fetches up to 200 logs per second"},

    {"spring.datasource.hikari.", ORIGINAL_PRESUMED, "the pool has only a size and a timeout"},
    {"spring.datasource.", ORIGINAL_PRESUMED, "internal to Spring"},
    {"spring.mail.", ORIGINAL_PRESUMED, "of xxl-job's mail library; sending an email may take 10 s"},
    {"spring.", ORIGINAL_PRESUMED, "internal to Spring"},
    {"server.", ORIGINAL_PRESUMED, "of Spring's web server"},
    {"xxl.job.", ORIGINAL_PRESUMED, "of xxl-job or its executors"},
};

const struct original_row *original_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (name_is_under(name, rows[i].name))
            return &rows[i];
    return NULL;
}

const struct original_row *original_find_variable(const char *variable, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].fate != ORIGINAL_IGNORED && rows[i].fate != ORIGINAL_PRESUMED &&
            name_is_variable(variable, len, rows[i].name))
            return &rows[i];
    return NULL;
}

const struct original_row *original_get_rows(size_t *count)
{
    *count = ARRAY_LEN(rows);
    return rows;
}
