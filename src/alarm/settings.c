/* SPDX-License-Identifier: MIT */
/* What the settings say of alarms. */
#include <string.h>

#include "shardwheel/alarm.h"
#include "shardwheel/config.h"

static enum mail_tls choose_mail_tls(const struct config *config)
{
    if (config->mail_ssl || strcmp(config->mail_protocol, "smtps") == 0 ||
        (config->mail_socket_factory[0] && config->mail_port == 465))
        return MAIL_TLS_WRAPPED;
    if (config->mail_starttls_required)
        return MAIL_TLS_STARTTLS;
    return config->mail_starttls ? MAIL_TLS_TRY : MAIL_TLS_NONE;
}

enum err alarms_read_config(const struct config *config, struct alarms_opts *out, struct errctx *ec)
{
    if (strcmp(config->mail_protocol, "smtp") != 0 && strcmp(config->mail_protocol, "smtps") != 0)
        return err_set(ec, ERR_INPUT, "%s: spring.mail.protocol: expected smtp or smtps",
                       config_get_source(config, "spring.mail.protocol"));
    out->mail = (struct mail_opts){.host = config->mail_host,
                                   .port = (int)config->mail_port,
                                   .username = config->mail_auth ? config->mail_username : "",
                                   .password = config->mail_password,
                                   .from = config->mail_from[0] ? config->mail_from : config->mail_username,
                                   .tls = choose_mail_tls(config),
                                   .verify = strcmp(config->mail_ssl_trust, "*") != 0};
    out->channels = config->alarm_channels;
    out->title = config->alarm_title;
    out->text = config->alarm_text;
    out->link = config->alarm_link;
    out->ca = config->alarm_ca;
    out->console_channels = config->alarm_console_channels;
    out->quiet_ms = config->alarm_every_ms;
    out->tell_recovery = config->alarm_recovery;
    out->tell_offline = config->alarm_offline;
    return ERR_OK;
}
