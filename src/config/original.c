/* SPDX-License-Identifier: MIT */
#include "config/original.h"

#include "config/settings.h"

#define FILES "not followed: name each file with --config or spring.config.additional-location"

/* The first row that fits counts: exceptions stand before what they are taken from. */
static const struct original_row rows[] = {
    {"server.address", ORIGINAL_ALIAS, "shardwheel.http.bind"},
    {"spring.config.location", ORIGINAL_LOADER, "files to read instead of the usual ones"},
    {"spring.config.additional-location", ORIGINAL_LOADER, "files to read after the usual ones"},
    {"spring.config.import", ORIGINAL_LOADER, "folders in which each file is a key: configtree:/DIR/"},
    {"spring.profiles.active", ORIGINAL_LOADER, "application-PROFILE.properties beside the usual ones is read too"},
    {"spring.config.", ORIGINAL_WARNED, FILES},
    {"spring.profiles.", ORIGINAL_WARNED, FILES},
    {"spring.application.json", ORIGINAL_WARNED, "not read: write its keys into a file or the environment"},
    {"server.ssl.", ORIGINAL_REFUSED,
     "TLS is not served here: put a proxy in front, and write server.ssl.enabled=false"},
    {"spring.datasource.jndi-name", ORIGINAL_REFUSED, "write spring.datasource.url"},
    {"spring.datasource.hikari.jdbc-url", ORIGINAL_REFUSED, "write spring.datasource.url"},
    {"spring.datasource.hikari.username", ORIGINAL_REFUSED, "write spring.datasource.username"},
    {"spring.datasource.hikari.password", ORIGINAL_REFUSED, "write spring.datasource.password"},

    {"spring.datasource.druid.", ORIGINAL_IGNORED, "another pool"},
    {"spring.datasource.tomcat.", ORIGINAL_IGNORED, "another pool"},
    {"spring.datasource.dbcp2.", ORIGINAL_IGNORED, "another pool"},
    {"spring.datasource.type", ORIGINAL_IGNORED, "another pool"},
    {"spring.datasource.name", ORIGINAL_IGNORED, "of Spring's own working"},
    {"spring.mail.properties.mail.smtps.", ORIGINAL_IGNORED, "of the original's mail library: see .mail.smtp."},
    {"xxl.job.triggerpool.fast.max", ORIGINAL_IGNORED,
     "fires are sent by event loops: see shardwheel.dispatch.threads"},
    {"xxl.job.triggerpool.slow.max", ORIGINAL_IGNORED,
     "fires are sent by event loops: see shardwheel.dispatch.threads"},
    {"xxl.job.schedule.batchsize", ORIGINAL_IGNORED, "batches need no setting"},
    {"management.", ORIGINAL_IGNORED, "health is always at /actuator/health"},
    {"mybatis.", ORIGINAL_IGNORED, "of the original's own working"},
    {"mybatis-plus.", ORIGINAL_IGNORED, "of the original's own working"},
    {"logging.", ORIGINAL_IGNORED, "see shardwheel.log.level"},
    {"info.", ORIGINAL_IGNORED, "texts of the original's info page"},
    {"xxl-sso.", ORIGINAL_IGNORED, "of the original's login"},
    {"debug", ORIGINAL_IGNORED, "see shardwheel.log.level"},
    {"trace", ORIGINAL_IGNORED, "see shardwheel.log.level"},

    {"spring.datasource.hikari.", ORIGINAL_PRESUMED, "the pool has only a size and a time to wait"},
    {"spring.datasource.", ORIGINAL_PRESUMED, "of Spring's own working"},
    {"spring.mail.", ORIGINAL_PRESUMED, "of the original's mail library; a mail may take 10 s"},
    {"spring.", ORIGINAL_PRESUMED, "of Spring's own working"},
    {"server.", ORIGINAL_PRESUMED, "of Spring's web server"},
    {"xxl.job.", ORIGINAL_PRESUMED, "of the original or its executors"},
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
