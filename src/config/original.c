/* SPDX-License-Identifier: MIT */
#include "config/original.h"

#include "config/settings.h"

#define FILES "name each file with --config or spring.config.additional-location"

/* The first row that fits counts: exceptions stand before what they are taken from. */
static const struct original_row rows[] = {
    {"spring.config.location", ORIGINAL_LOADER, "files to read instead of the usual ones"},
    {"spring.config.additional-location", ORIGINAL_LOADER, "files to read after the usual ones"},
    {"spring.profiles.active", ORIGINAL_LOADER, "application-PROFILE.properties beside the usual ones is read too"},
    {"spring.config.", ORIGINAL_REFUSED, FILES},
    {"spring.profiles.", ORIGINAL_REFUSED, FILES},
    {"spring.application.json", ORIGINAL_REFUSED, "write its keys into a file or the environment"},
    {"server.address", ORIGINAL_REFUSED, "write shardwheel.http.bind"},
    {"server.ssl.", ORIGINAL_REFUSED, "TLS is not served here: put a proxy in front"},
    {"spring.datasource.jndi-name", ORIGINAL_REFUSED, "write spring.datasource.url"},
    {"spring.datasource.hikari.jdbc-url", ORIGINAL_REFUSED, "write spring.datasource.url"},
    {"spring.datasource.hikari.username", ORIGINAL_REFUSED, "write spring.datasource.username"},
    {"spring.datasource.hikari.password", ORIGINAL_REFUSED, "write spring.datasource.password"},

    {"spring.datasource.hikari.", ORIGINAL_IGNORED, "the pool has only a size and a time to wait"},
    {"spring.datasource.druid.", ORIGINAL_IGNORED, "another pool"},
    {"spring.datasource.tomcat.", ORIGINAL_IGNORED, "another pool"},
    {"spring.datasource.dbcp2.", ORIGINAL_IGNORED, "another pool"},
    {"spring.datasource.type", ORIGINAL_IGNORED, "another pool"},
    {"spring.datasource.name", ORIGINAL_IGNORED, "of Spring's own working"},
    {"spring.datasource.generate-unique-name", ORIGINAL_IGNORED, "of Spring's own working"},
    {"spring.datasource.", ORIGINAL_UNKNOWN, NULL},
    {"spring.mail.", ORIGINAL_IGNORED, "of the original's mail library; a mail may take 10 s"},
    {"spring.", ORIGINAL_IGNORED, "of Spring's own working"},
    {"server.", ORIGINAL_IGNORED, "of Spring's web server"},
    {"management.", ORIGINAL_IGNORED, "health is always at /actuator/health"},
    {"mybatis.", ORIGINAL_IGNORED, "of the original's own working"},
    {"mybatis-plus.", ORIGINAL_IGNORED, "of the original's own working"},
    {"logging.", ORIGINAL_IGNORED, "see shardwheel.log.level"},
    {"xxl-sso.", ORIGINAL_IGNORED, "of the original's login"},
    {"xxl.job.i18n", ORIGINAL_IGNORED, "the language of the original's pages"},
    {"xxl.job.triggerpool.fast.max", ORIGINAL_IGNORED,
     "fires are sent by event loops: see shardwheel.dispatch.threads"},
    {"xxl.job.triggerpool.slow.max", ORIGINAL_IGNORED,
     "fires are sent by event loops: see shardwheel.dispatch.threads"},
    {"xxl.job.schedule.batchsize", ORIGINAL_IGNORED, "batches need no setting"},
    {"debug", ORIGINAL_IGNORED, "see shardwheel.log.level"},
    {"trace", ORIGINAL_IGNORED, "see shardwheel.log.level"},
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
        if ((rows[i].fate == ORIGINAL_REFUSED || rows[i].fate == ORIGINAL_LOADER) &&
            name_is_variable(variable, len, rows[i].name))
            return &rows[i];
    return NULL;
}

const struct original_row *original_get_rows(size_t *count)
{
    *count = ARRAY_LEN(rows);
    return rows;
}
