/* SPDX-License-Identifier: MIT */
#include "alarm/mail_text.h"

#include "shardwheel/markup.h"
#include "shardwheel/alarm.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FOREIGN_MAX (1u << 20) /* bytes of a text: more than any column holds, escaped */
#define LINE_BYTES 57          /* 76 characters of base64 */
#define WORD_BYTES 39          /* 52 characters of base64: with "Subject: " and its frame a line of 73; RFC 2047: 76 */

/* ---- addresses --------------------------------------------------------------------------------------------- */

/* A copy of the address in an entry, "" when there is none in it: without blanks around it, and of "Some Name
 * <address>" what stands in the brackets. A name is not used, but one with control characters spoils the entry. NULL
 * when out of memory. */
static char *copy_address(struct text_part item, bool *blank)
{
    const char *entry = item.at, *end = entry + item.len, *open;

    while (entry < end && (*entry == ' ' || *entry == '\t'))
        entry++;
    while (end > entry && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *blank = entry == end;
    if (text_has_control(entry, (size_t)(end - entry)))
        return str_copy("");
    if (end > entry && end[-1] == '>' && (open = memchr(entry, '<', (size_t)(end - entry))) != NULL) {
        entry = open + 1;
        end--;
    }
    char *address = strndup(entry, (size_t)(end - entry));
    if (address && !mail_is_address(address))
        address[0] = '\0';
    return address;
}

enum err mail_list_parse(const char *text, struct mail_list *out, struct errctx *ec)
{
    struct mail_list list = {0};
    size_t entries = text_count_items(text);
    struct text_part entry;

    list.addresses = calloc(entries, sizeof(char *));
    if (!list.addresses)
        return err_set(ec, ERR_NOMEM, "out of memory for %zu mail addresses", entries);
    while (text_next_item(&text, &entry)) {
        bool blank;
        char *address = copy_address(entry, &blank);
        if (!address) {
            mail_list_fini(&list);
            return err_set(ec, ERR_NOMEM, "out of memory for %zu mail addresses", entries);
        }
        if (*address && !list_has_text((const char *const *)list.addresses, list.count, address)) {
            list.addresses[list.count++] = address;
            continue;
        }
        list.refused += !*address && !blank;
        free(address);
    }
    *out = list;
    return ERR_OK;
}

bool alarm_are_addresses(const char *text)
{
    struct mail_list list;
    struct errctx ec = {{0}};

    if (str_is_blank(text) || mail_list_parse(text, &list, &ec))
        return true;
    bool are = !list.refused;
    mail_list_fini(&list);
    return are;
}

void mail_list_fini(struct mail_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->addresses[i]);
    free(list->addresses);
    *list = (struct mail_list){0};
}

/* ---- encodings --------------------------------------------------------------------------------------------- */

/* Any text as encoded words of RFC 2047, one to a line. */
static void put_encoded_words(struct buf *out, const char *text)
{
    size_t len = strlen(text);

    for (size_t at = 0, n; at < len; at += n) {
        n = utf8_cut(text + at, len - at, WORD_BYTES);
        buf_puts(out, at ? "\r\n =?UTF-8?B?" : "=?UTF-8?B?");
        buf_put_base64(out, text + at, n);
        buf_puts(out, "?=");
    }
}

/* No locale is set, so days and months are English. */
static void put_date(struct buf *out, int64_t now_s)
{
    time_t t = (time_t)now_s;
    struct tm utc;
    char text[60];

    if (gmtime_r(&t, &utc) && strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S +0000", &utc))
        buf_printf(out, "Date: %s\r\n", text);
}

/* ---- the body ---------------------------------------------------------------------------------------------- */

static void put_html(struct buf *out, const char *text)
{
    text_put_html(out, text, strlen(text), FOREIGN_MAX);
}

static void put_row(struct buf *out, const char *label)
{
    buf_puts(out, "</td></tr>\n<tr><td style=\"vertical-align:top\"><b>");
    buf_puts(out, label);
    buf_puts(out, "</b></td><td>");
}

static void put_table(struct buf *out, const struct alarm_facts *a, bool failed)
{
    buf_puts(out, "<table border=\"1\" cellpadding=\"4\" style=\"border-collapse:collapse\">\n"
                  "<tr><td><b>group</b></td><td>");
    put_html(out, a->group_name ? a->group_name : "(the group was deleted)");
    put_row(out, "job");
    buf_put_int(out, a->job_id);
    put_row(out, "description");
    put_html(out, a->job_name);
    put_row(out, "log");
    buf_put_int(out, a->log_id);
    if (failed && a->trigger_code != CODE_OK) {
        put_row(out, "trigger message");
        markup_put_html(out, a->trigger_msg);
    }
    if (failed && a->handle_code > CODE_OPEN && a->handle_code != CODE_OK) {
        put_row(out, "handle message");
        markup_put_html(out, a->handle_msg);
    }
}

void mail_put_body(struct buf *out, const struct alarm_facts *facts, const char *text, bool failed,
                   const char *node_name)
{
    buf_puts(out, "<html><body><p>");
    put_html(out, text);
    buf_puts(out, "</p>\n");
    if (facts) {
        put_table(out, facts, failed);
        put_row(out, "sent by");
        put_html(out, node_name);
        buf_puts(out, "</td></tr>\n</table>");
    }
    buf_puts(out, "</body></html>\n");
}

void mail_put(struct buf *out, const struct mail_facts *f)
{
    const char *domain = strchr(f->from, '@');
    size_t len = strlen(f->html);

    buf_printf(out, "From: shardwheel <%s>\r\nTo: <%s>\r\n", f->from, f->to);
    buf_puts(out, "Subject: ");
    put_encoded_words(out, f->subject);
    buf_puts(out, "\r\n");
    put_date(out, f->now_s);
    buf_printf(out, "Message-ID: <%s.%" PRId64 "%s>\r\n", f->unique, f->log_id, domain ? domain : "@localhost");
    buf_puts(out, "MIME-Version: 1.0\r\nAuto-Submitted: auto-generated\r\n"
                  "Content-Type: text/html; charset=UTF-8\r\nContent-Transfer-Encoding: base64\r\n\r\n");
    for (size_t at = 0; at < len; at += LINE_BYTES) {
        buf_put_base64(out, f->html + at, len - at < LINE_BYTES ? len - at : LINE_BYTES);
        buf_puts(out, "\r\n");
    }
}
