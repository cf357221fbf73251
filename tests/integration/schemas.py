# SPDX-License-Identifier: MIT
"""
The tables of an xxl-job database in each generation that people run, made from a table of facts.

A column is written `name type flags`; flags: nn = NOT NULL, auto = AUTO_INCREMENT, d:x = DEFAULT x; without nn a
column may be NULL, which is then its default. A key is written `key name(columns)` or `unique name(columns)`;
the first column of a table is its primary key.

Each generation is the one before it with a few changes; FAMILIES lists them in that order.
"""
import hashlib

_FIRST = {
    "xxl_job_info": """
        id int(11) nn auto
        job_group int(11) nn
        job_desc varchar(255) nn
        add_time datetime
        update_time datetime
        author varchar(64)
        alarm_email varchar(255)
        schedule_type varchar(50) nn d:'NONE'
        schedule_conf varchar(128)
        misfire_strategy varchar(50) nn d:'DO_NOTHING'
        executor_route_strategy varchar(50)
        executor_handler varchar(255)
        executor_param varchar(512)
        executor_block_strategy varchar(50)
        executor_timeout int(11) nn d:0
        executor_fail_retry_count int(11) nn d:0
        glue_type varchar(50) nn
        glue_source mediumtext
        glue_remark varchar(128)
        glue_updatetime datetime
        child_jobid varchar(255)
        trigger_status tinyint(4) nn d:0
        trigger_last_time bigint(13) nn d:0
        trigger_next_time bigint(13) nn d:0""",
    "xxl_job_log": """
        id bigint(20) nn auto
        job_group int(11) nn
        job_id int(11) nn
        executor_address varchar(255)
        executor_handler varchar(255)
        executor_param varchar(512)
        executor_sharding_param varchar(20)
        executor_fail_retry_count int(11) nn d:0
        trigger_time datetime
        trigger_code int(11) nn
        trigger_msg text
        handle_time datetime
        handle_code int(11) nn
        handle_msg text
        alarm_status tinyint(4) nn d:0
        key I_trigger_time(trigger_time)
        key I_handle_code(handle_code)""",
    "xxl_job_log_report": """
        id int(11) nn auto
        trigger_day datetime
        running_count int(11) nn d:0
        suc_count int(11) nn d:0
        fail_count int(11) nn d:0
        update_time datetime
        unique i_trigger_day(trigger_day)""",
    "xxl_job_logglue": """
        id int(11) nn auto
        job_id int(11) nn
        glue_type varchar(50)
        glue_source mediumtext
        glue_remark varchar(128) nn
        add_time datetime
        update_time datetime""",
    "xxl_job_registry": """
        id int(11) nn auto
        registry_group varchar(50) nn
        registry_key varchar(255) nn
        registry_value varchar(255) nn
        update_time datetime
        key i_g_k_v(registry_group,registry_key,registry_value)""",
    "xxl_job_group": """
        id int(11) nn auto
        app_name varchar(64) nn
        title varchar(12) nn
        address_type tinyint(4) nn d:0
        address_list text
        update_time datetime""",
    "xxl_job_user": """
        id int(11) nn auto
        username varchar(50) nn
        password varchar(50) nn
        role tinyint(4) nn
        permission varchar(255)
        unique i_username(username)""",
    "xxl_job_lock": """
        lock_name varchar(50) nn""",
}

# (table, text in the generation before, text from this generation on); an empty old text appends a line.
_CHANGES = {
    "2.5": [
        ("xxl_job_registry", "key i_g_k_v", "unique i_g_k_v"),
        ("xxl_job_log", "", "key I_jobid_jobgroup(job_id,job_group)"),
        ("xxl_job_log", "", "key I_job_id(job_id)"),
    ],
    "3.2": [
        ("xxl_job_user", "password varchar(50) nn", "password varchar(100) nn\ntoken varchar(100)"),
    ],
    "3.4": [
        ("xxl_job_group", "title varchar(12)", "title varchar(64)"),
        ("xxl_job_registry", "id int(11)", "id bigint(20)"),
        ("xxl_job_info", "executor_param varchar(512)", "executor_param text"),
        ("xxl_job_log", "executor_param varchar(512)", "executor_param text"),
        ("xxl_job_log", "I_jobid_jobgroup(job_id,job_group)", "I_jobgroup(job_group)"),
        ("xxl_job_log", "I_job_id(job_id)", "I_jobid(job_id)"),
    ],
    "3.5": [
        ("xxl_job_group", "title varchar(64)", "name varchar(64)"),
        ("xxl_job_group", "address_list text", "address_list text\naccess_token varchar(255)"),
        ("xxl_job_group", "", "unique i_app_name(app_name)"),
        ("xxl_job_info", "job_desc varchar(255)", "name varchar(255)"),
        ("xxl_job_info", "add_time datetime", None),
        ("xxl_job_info", "update_time datetime", None),
        ("xxl_job_info", "", "add_time datetime"),
        ("xxl_job_info", "", "update_time datetime"),
        ("xxl_job_log", "I_trigger_time", "i_trigger_time"),
        ("xxl_job_log", "I_handle_code", "i_handle_code"),
        ("xxl_job_log", "I_jobgroup", "i_job_group"),
        ("xxl_job_log", "I_jobid", "i_job_id"),
    ],
}
_WIDTHS = ("int(11)", "bigint(20)", "bigint(13)", "tinyint(4)")  # gone from the DDL from 3.5 on

FAMILIES = ("2.3", "2.5", "3.2", "3.4", "3.5")


def is_since(family, first):
    """Whether the generation is `first` or a later one."""
    return FAMILIES.index(family) >= FAMILIES.index(first)


def _strip(lines):
    return [line.strip() for line in lines.strip().splitlines()]


def _change(lines, old, new):
    if not old:
        return lines + [new]
    hits = [i for i, line in enumerate(lines) if line.startswith(old) or line.split(" ", 1)[-1].startswith(old)]
    assert len(hits) == 1, f"'{old}' is in {len(hits)} lines of {lines}"
    if new is None:
        return lines[: hits[0]] + lines[hits[0] + 1 :]
    return lines[: hits[0]] + _strip(lines[hits[0]].replace(old, new)) + lines[hits[0] + 1 :]


def _facts(family):
    tables = {name: _strip(text) for name, text in _FIRST.items()}
    for step in FAMILIES[1 : FAMILIES.index(family) + 1]:
        for table, old, new in _CHANGES[step]:
            tables[table] = _change(tables[table], old, new)
    if is_since(family, "3.5"):
        for name, lines in tables.items():
            for width in _WIDTHS:
                lines = [line.replace(width, width.split("(")[0]) for line in lines]
            tables[name] = lines
    return tables


def _line_sql(line):
    words = line.split(" ")
    if words[0] in ("key", "unique"):
        index, columns = words[1].rstrip(")").split("(")
        quoted = ",".join(f"`{c}`" for c in columns.split(","))
        return f"{'UNIQUE ' if words[0] == 'unique' else ''}KEY `{index}` ({quoted})"
    sql = f"`{words[0]}` {words[1]}"
    sql += " NOT NULL" if "nn" in words else " NULL"
    for word in words[2:]:
        if word == "auto":
            sql += " AUTO_INCREMENT"
        elif word.startswith("d:"):
            sql += f" DEFAULT {word[2:]}"
    return sql


def create_tables_sql(family, charset="utf8mb4"):
    """The CREATE TABLE statements of a generation, one per table."""
    statements = []
    for name, lines in _facts(family).items():
        body = [_line_sql(line) for line in lines] + [f"PRIMARY KEY (`{lines[0].split(' ')[0]}`)"]
        statements.append(f"CREATE TABLE `{name}` ({', '.join(body)}) ENGINE=InnoDB DEFAULT CHARSET={charset}")
    return statements


def seed_sql(family):
    """What a fresh installation holds and a scheduler needs: the lock row and a login."""
    digest = hashlib.sha256 if is_since(family, "3.2") else hashlib.md5
    return [
        "INSERT INTO xxl_job_lock (lock_name) VALUES ('schedule_lock')",
        "INSERT INTO xxl_job_user (id, username, password, role) "
        f"VALUES (1, 'admin', '{digest(b'123456').hexdigest()}', 1)",
    ]


def job_name_column(family):
    return "name" if is_since(family, "3.5") else "job_desc"


def group_name_column(family):
    return "name" if is_since(family, "3.5") else "title"


def has_group_token(family):
    return is_since(family, "3.5")
