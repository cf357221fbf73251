/* SPDX-License-Identifier: MIT */
/* help: the table of keys as people read it: --help, --help-config, the sample file, docs/configuration.md. */
#include "shardwheel/config.h"

#include "config/args.h"
#include "config/key.h"
#include "config/original.h"
#include "shardwheel/text.h"

#include <string.h>

#define WIDTH 100

void config_write_usage(struct buf *out)
{
    buf_puts(out,
             "usage: " CONFIG_USAGE "\n"
             "\n"
             "A job scheduler on the database and with the executors of xxl-job.\n"
             "\n"
             "  (no command)           run a node of the configured database\n"
             "  standalone             run the only node, without ZooKeeper\n"
             "  standalone --data DIR  the same with a private database server that keeps its data in DIR\n"
             "  install-schema         create missing tables in the configured database, then exit\n"
             "  ctl COMMAND            control a cluster: see shardwheel ctl --help\n"
             "\n"
             "  --config FILE          read this properties file. Can be repeated; later files override. Default:\n"
             "                         ./application.properties and ./config/application.properties, if they exist\n"
             "  --KEY=VALUE            set a key, for example --server.port=8080; overrides environment and files\n"
             "  -h, --help             show this text\n"
             "  --help-config          show every key with default, allowed values and meaning;\n"
             "                         =properties as a sample file, =markdown as tables\n"
             "  --version              show the version\n");
}

/* What stands for a value in examples where the default is empty. */
static const char *example_of(const struct key_row *row)
{
    if (*row->default_text)
        return row->default_text;
    if (row->kind == KIND_JDBC)
        return "jdbc:mysql://127.0.0.1:3306/xxl_job?serverTimezone=Asia/Shanghai";
    if (row->kind == KIND_SERVERS)
        return "127.0.0.1:2181";
    return "";
}

static void write_section_title(size_t index, const char *before, const char *after, struct buf *out)
{
    if (index && key_rows[index].section == key_rows[index - 1].section)
        return;
    buf_printf(out, "%s%s%s", before, key_section_title(key_rows[index].section), after);
}

static void write_key(const struct key_row *row, const char *prefix, struct buf *out)
{
    struct buf expected = {0};

    text_put_wrapped(out, prefix, row->help, WIDTH);
    buf_puts(&expected, "Value: ");
    key_write_expected(row, &expected);
    buf_puts(&expected, row->flags & KEY_LENIENT ? "; any other number means the default." : ".");
    if (row->flags & KEY_RELOADABLE)
        buf_puts(&expected, " A reload applies it.");
    if (buf_failed(&expected))
        out->failed = true;
    else
        text_put_wrapped(out, prefix, expected.data, WIDTH);
    buf_fini(&expected);
}

static void write_text(struct buf *out)
{
    buf_puts(out, "All keys with their defaults. Set a key in a properties file, as --KEY=VALUE, or as an environment\n"
                  "variable in upper case with underscores (SERVER_PORT).\n");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        write_section_title(i, "\n== ", " ==\n\n", out);
        buf_printf(out, "%s=%s\n", key_rows[i].name, key_rows[i].default_text);
        write_key(&key_rows[i], "        ", out);
    }
}

static void write_properties(struct buf *out)
{
    buf_puts(out, "# Configuration of shardwheel. All keys with their defaults. Remove the # to set a key.\n"
                  "# Written by: shardwheel --help-config=properties\n");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        write_section_title(i, "\n# ---- ", " ----\n", out);
        buf_putc(out, '\n');
        write_key(&key_rows[i], "# ", out);
        buf_printf(out, "#%s=%s\n", key_rows[i].name, example_of(&key_rows[i]));
    }
}

/* A cell of a table: a bar would end it. */
static void write_cell(const char *text, struct buf *out)
{
    for (; *text; text++) {
        if (*text == '|')
            buf_putc(out, '\\');
        buf_putc(out, *text);
    }
    buf_puts(out, " |");
}

static void write_table_row(const struct key_row *row, struct buf *out)
{
    struct buf expected = {0};

    key_write_expected(row, &expected);
    if (row->flags & KEY_LENIENT)
        buf_puts(&expected, "; any other number means the default");
    if (row->flags & KEY_RELOADABLE)
        buf_puts(&expected, "; *reload*");
    buf_puts(&expected, "");
    if (buf_failed(&expected)) {
        out->failed = true;
        buf_fini(&expected);
        return;
    }
    if (*row->default_text)
        buf_printf(out, "| `%s` | `%s` | ", row->name, row->default_text);
    else
        buf_printf(out, "| `%s` | | ", row->name);
    write_cell(expected.data, out);
    buf_putc(out, ' ');
    write_cell(row->help, out);
    buf_putc(out, '\n');
    buf_fini(&expected);
}

static void write_names(const struct original_row *rows, size_t count, size_t first, struct buf *out)
{
    for (size_t i = first; i < count; i++) {
        if (rows[i].fate == rows[first].fate && !strcmp(rows[i].reason, rows[first].reason))
            buf_printf(out, "%s`%s%s`", i == first ? "" : ", ", rows[i].name,
                       rows[i].name[strlen(rows[i].name) - 1] == '.' ? "*" : "");
    }
}

/* One row for each reason, with all keys that have it. */
static void write_original(enum original_fate fate, const char *effect, struct buf *out)
{
    size_t count;
    const struct original_row *rows = original_get_rows(&count);

    for (size_t i = 0; i < count; i++) {
        bool is_told = rows[i].fate != fate;

        for (size_t k = 0; k < i && !is_told; k++)
            is_told = rows[k].fate == fate && !strcmp(rows[k].reason, rows[i].reason);
        if (is_told)
            continue;
        buf_puts(out, "| ");
        write_names(rows, count, i, out);
        buf_printf(out, " | %s | ", effect);
        write_cell(rows[i].reason, out);
        buf_putc(out, '\n');
    }
}

/* docs/configuration.md from its keys on. */
static void write_markdown(struct buf *out)
{
    static const struct {
        enum original_fate fate;
        const char *effect;
    } others[] = {
        {ORIGINAL_ALIAS, "other name of"}, {ORIGINAL_LOADER, "names files"}, {ORIGINAL_IGNORED, "none"},
        {ORIGINAL_PRESUMED, "none"},       {ORIGINAL_WARNED, "warning"},     {ORIGINAL_REFUSED, "error"},
    };

    buf_puts(out, "## Keys\n\n| key | default | value | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        write_section_title(i, "| **", "** | | | |\n", out);
        write_table_row(&key_rows[i], out);
    }
    buf_puts(
        out,
        "\n## Other keys\n\n"
        "Keys of xxl-job and Spring, and former keys of shardwheel. If a key and its other name are both "
        "set, the later\none counts. Keys without effect are listed once in the log at start, with a warning where "
        "you may expect one.\nWith an error the program does not start. Of `server.ssl.*`, only keys that are "
        "not in the table above are errors,\nunless `server.ssl.enabled` is `false`.\n\n"
        "| key | effect | meaning, reason, or what to write instead |\n|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        write_original(others[i].fate, others[i].effect, out);
}

void config_write_help(enum config_format format, struct buf *out)
{
    switch (format) {
    case CONFIG_FORMAT_TEXT: write_text(out); break;
    case CONFIG_FORMAT_PROPERTIES: write_properties(out); break;
    case CONFIG_FORMAT_MARKDOWN: write_markdown(out); break;
    }
}
