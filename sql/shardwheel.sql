-- SPDX-License-Identifier: MIT
-- The tables of shardwheel beside those of xxl-job. `shardwheel install-schema` makes them too; a Java admin does not
-- see them. A statement ends with ';' at the end of a line. A change here comes with its step in src/store/schema/upgrade.c.

CREATE TABLE IF NOT EXISTS shardwheel_schema (
  id TINYINT NOT NULL,
  version INT NOT NULL COMMENT 'of these tables: a release works with its own, the one before and the one after',
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_cluster (
  id TINYINT NOT NULL,
  shards INT NOT NULL COMMENT 'number of shards, one for the whole cluster',
  update_time DATETIME NULL,
  zone_database VARCHAR(80) NULL COMMENT 'zone of DATETIME columns, the same on all nodes; NULL: the next start fills it',
  zone_cron VARCHAR(80) NULL COMMENT 'zone of cron expressions, likewise',
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_shard (
  shard INT NOT NULL,
  epoch BIGINT NOT NULL COMMENT 'raised at each takeover: who may write',
  owner VARCHAR(128) NOT NULL COMMENT 'node that took it last',
  update_time DATETIME NULL COMMENT 'when it was taken',
  claims BIGINT NOT NULL DEFAULT 0 COMMENT 'raised by each claim where several servers take writes (Galera)',
  PRIMARY KEY (shard)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_primary (
  id INT NOT NULL,
  generation BIGINT NOT NULL COMMENT 'raised whenever the nodes go over to another server',
  server VARCHAR(250) NOT NULL COMMENT 'the server on which this row was written, as it names itself',
  node VARCHAR(128) NOT NULL COMMENT 'the node that wrote it',
  update_time DATETIME NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_cursor (
  shard INT NOT NULL,
  epoch BIGINT NOT NULL COMMENT 'that of shardwheel_shard, in a row that a claim does not lock',
  cursor_s BIGINT NOT NULL COMMENT 'epoch seconds: what is due at or before it was handed to dispatch',
  PRIMARY KEY (shard)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_node (
  incarnation VARCHAR(32) NOT NULL COMMENT 'one run of one node',
  node VARCHAR(128) NOT NULL,
  url VARCHAR(255) NOT NULL COMMENT 'where its pages are',
  version VARCHAR(32) NOT NULL,
  started_ms BIGINT NOT NULL COMMENT 'epoch milliseconds by the clock of the database, as all in this table',
  beat_ms BIGINT NOT NULL COMMENT 'its last sign of life',
  clock_ms BIGINT NOT NULL COMMENT 'how far its clock is ahead of that of the database',
  owned INT NOT NULL COMMENT 'shards that it owns',
  drain TINYINT NOT NULL COMMENT '1: it shall own none; written by shardwheelctl',
  release_shard INT NOT NULL COMMENT 'a shard that it shall let go to another node, or -1; written by shardwheelctl',
  flows TINYINT NOT NULL DEFAULT 0 COMMENT '1: it knows flows',
  PRIMARY KEY (incarnation)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_guard (
  incarnation VARCHAR(32) NOT NULL COMMENT 'node that holds a shared lock of the row schedule_lock of xxl_job_lock',
  connection BIGINT NOT NULL COMMENT 'its session at the server',
  proven_ms BIGINT NOT NULL COMMENT 'when that session was seen alive last, by the clock of the database',
  PRIMARY KEY (incarnation)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_reshard (
  id TINYINT NOT NULL,
  shards INT NOT NULL COMMENT 'the number of shards that is wanted; 0: none',
  last_s BIGINT NOT NULL COMMENT 'epoch second at which all cursors stand still for the change',
  tries INT NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_takeover (
  shard INT NOT NULL,
  epoch BIGINT NOT NULL COMMENT 'that this takeover wrote',
  cursor_s BIGINT NOT NULL COMMENT 'that it found: what is open at or before it may be undelivered',
  taken_ms BIGINT NOT NULL COMMENT 'epoch milliseconds by the clock of the database; the row goes when this was settled',
  PRIMARY KEY (shard, epoch)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_beats (
  id TINYINT NOT NULL,
  began_ms BIGINT NOT NULL COMMENT 'epoch milliseconds by the clock of the database: since then nodes have missed heartbeats',
  missed_ms BIGINT NOT NULL COMMENT 'when one did so last; for 90 s from then on no executor expires',
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_job (
  job_id INT NOT NULL COMMENT 'of xxl_job_info; a row only where something is set',
  time_zone VARCHAR(80) NULL COMMENT 'of its cron expression; NULL: that of the cluster',
  fixed_delay_s INT NULL COMMENT 'FIX_DELAY: from the end of a run to the next one; xxl_job_info says FIX_RATE',
  valid_from_s BIGINT NULL COMMENT 'epoch seconds: the schedule has no occurrence before it',
  valid_until_s BIGINT NULL COMMENT 'nor at it and after it',
  retry_wait_s INT NULL COMMENT 'from a failure to its retry; NULL: at once',
  retry_wait_max_s INT NULL COMMENT 'the wait doubles with each retry up to this; NULL: it stays the same',
  hold_s INT NULL COMMENT 'a fire waits so long for an executor that is away; NULL: it fails at once',
  resend_lost TINYINT NULL COMMENT '1: a lost run is sent again; NULL: it fails',
  retention_days INT NULL COMMENT 'of its log rows; NULL: as all others',
  tags VARCHAR(512) NULL COMMENT 'words between commas',
  update_time DATETIME NULL,
  kept_logs TINYINT NULL COMMENT 'whose logs are kept: 0 none, 1 failed runs, 2 all; NULL: as shardwheel.kept-logs says',
  success_within_s INT NULL COMMENT 'people are told when it has had no success for so long',
  longest_run_s INT NULL COMMENT 'and when a run takes longer; 0: three times what 95 % of its last 30 runs took',
  done_by VARCHAR(5) NULL COMMENT 'and when it has had no success of the day by then: HH:MM in its zone',
  PRIMARY KEY (job_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_later (
  id BIGINT NOT NULL AUTO_INCREMENT,
  planned TINYINT NOT NULL COMMENT '1: its fire is planned, as log_id; 0: it waits for due_s',
  due_s BIGINT NOT NULL COMMENT 'epoch second in which it goes out, or is looked at again',
  job_id INT NOT NULL COMMENT 'its shard is job_id % N',
  kind CHAR(1) NOT NULL COMMENT 'C schedule, F misfire, R retry, M manual, P parent, A API',
  param MEDIUMTEXT NULL COMMENT 'of the run; NULL: that of the job',
  addresses TEXT NULL COMMENT 'where it goes instead of the group; NULL: to the group',
  sharding VARCHAR(24) NULL COMMENT 'i/n of a broadcast',
  retries_left INT NOT NULL COMMENT '-1: those of the job',
  generation INT NOT NULL COMMENT 'of a child, and of its retries; 0: it is none; -1: the last fire of a schedule',
  original_due_s BIGINT NOT NULL COMMENT 'the due time that it stands for',
  hold_until_s BIGINT NULL COMMENT 'it waits for an executor, and fails when it finds none by then; NULL: it does not',
  log_id BIGINT NULL COMMENT 'row of xxl_job_log: of the planned fire, or of the one that waits',
  PRIMARY KEY (id),
  KEY shardwheel_later_due (planned, due_s, job_id),
  KEY shardwheel_later_log (log_id),
  KEY shardwheel_later_job (job_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_alarm (
  job_id INT NOT NULL COMMENT 'a row for each job that failed lately; 0: the node that tells of them',
  log_id BIGINT NULL COMMENT 'failure that is to be told now: its alarm_status is -1 as long as it stands here',
  last_log BIGINT NOT NULL COMMENT 'newest failure',
  failures INT NOT NULL COMMENT 'that nobody was told of yet; of row 0: changes of shardwheel_watch by the node',
  failing TINYINT NOT NULL COMMENT '1: people were told that it fails, and not yet that it works again',
  quiet_until_ms BIGINT NOT NULL COMMENT 'no message about the job before, by the clock of the database; 0: none was sent; of row 0: when its lease ends',
  incarnation VARCHAR(32) NOT NULL COMMENT 'of row 0: the node',
  PRIMARY KEY (job_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_channel (
  id INT NOT NULL AUTO_INCREMENT,
  name VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'json, dingtalk, wecom, feishu, slack',
  target VARCHAR(2000) NOT NULL COMMENT 'URL of the webhook: a secret',
  secret VARCHAR(500) NOT NULL COMMENT 'what it is signed with; empty: nothing',
  app_names VARCHAR(4000) NOT NULL COMMENT 'executor groups between commas; empty: all',
  changed_ms BIGINT NOT NULL COMMENT 'by the clock of the database',
  tags VARCHAR(2000) NOT NULL DEFAULT '' COMMENT 'of jobs, between commas; empty: all',
  quiet VARCHAR(100) NOT NULL DEFAULT '' COMMENT 'quiet hours: HH:MM-HH:MM/ZONE; empty: none',
  PRIMARY KEY (id),
  UNIQUE KEY shardwheel_channel_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_told (
  id BIGINT NOT NULL AUTO_INCREMENT,
  at_ms BIGINT NOT NULL COMMENT 'when a receiver took the message, or it was given up; by the clock of the database',
  event VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'job_failed, job_recovered, executor_offline, flow_failed, flow_late, flow_recovered',
  job_id INT NOT NULL COMMENT '0: it is about no job',
  log_id BIGINT NOT NULL,
  app_name VARCHAR(64) NOT NULL COMMENT 'of the executor group',
  channel VARCHAR(40) NOT NULL,
  receiver VARCHAR(255) NOT NULL COMMENT 'of a mail; else empty',
  title VARCHAR(500) NOT NULL,
  error VARCHAR(300) NULL COMMENT 'NULL: it was taken',
  PRIMARY KEY (id),
  KEY shardwheel_told_at (at_ms),
  KEY shardwheel_told_job (job_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_removed (
  job_id INT NOT NULL COMMENT 'a job that was removed, rows of whose log are still there',
  at_ms BIGINT NOT NULL COMMENT 'by the clock of the database',
  log_id BIGINT NOT NULL COMMENT 'its rows up to this one are gone',
  last_id BIGINT NOT NULL COMMENT 'none of its rows comes behind this one',
  PRIMARY KEY (job_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_audit (
  id BIGINT NOT NULL AUTO_INCREMENT,
  at_ms BIGINT NOT NULL COMMENT 'by the clock of the database',
  user_id INT NOT NULL COMMENT 'of xxl_job_user; 0: none of them',
  who VARCHAR(100) NOT NULL,
  address VARCHAR(64) NOT NULL COMMENT 'where the request came from',
  via VARCHAR(64) NOT NULL COMMENT 'which interface, or which token',
  action VARCHAR(40) NOT NULL COMMENT 'job.update, group.remove, ...',
  target BIGINT NOT NULL COMMENT 'id of what was changed',
  target_name VARCHAR(100) NOT NULL,
  job_group INT NOT NULL COMMENT 'whose users may see it; 0: admins alone',
  before_json MEDIUMTEXT NULL COMMENT 'what differs; NULL: it was not there',
  after_json MEDIUMTEXT NULL COMMENT 'NULL: it is gone',
  PRIMARY KEY (id),
  KEY shardwheel_audit_at (at_ms),
  KEY shardwheel_audit_target (target, at_ms),
  KEY shardwheel_audit_who (who, at_ms),
  KEY shardwheel_audit_action (action, at_ms),
  KEY shardwheel_audit_group (job_group, at_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_role (
  user_id INT NOT NULL COMMENT 'of xxl_job_user, where it has role 0 and no groups',
  role VARCHAR(16) NOT NULL COMMENT 'reader or runner',
  job_groups TEXT NULL COMMENT 'ids between commas; NULL: all',
  PRIMARY KEY (user_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_outside (
  user_id INT NOT NULL COMMENT 'of xxl_job_user: somebody else proves who that is',
  username VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'of that row: whoever gets the id later is another one',
  source VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'oidc, ldap',
  subject_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'SHA-256 of source and subject: by it the user is found',
  subject VARCHAR(500) NOT NULL COMMENT 'for people; may be cut',
  seen_ms BIGINT NOT NULL COMMENT 'last login, by the clock of the database; 0: the last try was refused',
  PRIMARY KEY (user_id),
  UNIQUE KEY shardwheel_outside_subject (subject_hash)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_password (
  user_id INT NOT NULL,
  stands_for VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'this row counts while xxl_job_user.password has this value, which no Java admin takes for a password',
  hash VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'argon2id, with its parameters and its salt',
  weak TINYINT NOT NULL DEFAULT 0 COMMENT '1: of a password that everybody knows',
  PRIMARY KEY (user_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_factor (
  user_id INT NOT NULL,
  secret VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'of the time-based codes, base32; NULL: no second factor is in use',
  since_ms BIGINT NULL COMMENT 'by the clock of the database, as pending_ms; NULL as secret',
  last_step BIGINT NOT NULL DEFAULT 0 COMMENT 'the 30 seconds of the last code that was used: no older code counts',
  pending VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'shown to the user, who has not confirmed it by a code yet',
  pending_ms BIGINT NULL,
  PRIMARY KEY (user_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_recovery (
  user_id INT NOT NULL,
  hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'SHA-256 of a recovery code that was not used yet',
  PRIMARY KEY (user_id, hash)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_session (
  id CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'SHA-256 of the secret in the cookie',
  user_id INT NOT NULL,
  password_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'SHA-256 of the password column at login: another password ends it',
  created_ms BIGINT NOT NULL COMMENT 'by the clock of the database, as the next two',
  used_ms BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL,
  lives_ms BIGINT NOT NULL COMMENT 'so long from its last use on',
  address VARCHAR(64) NOT NULL,
  agent VARCHAR(200) NOT NULL,
  factor_ms BIGINT NULL COMMENT 'when the second factor was shown; NULL: it was not',
  PRIMARY KEY (id),
  KEY shardwheel_session_user (user_id),
  KEY shardwheel_session_expires (expires_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_token (
  id INT NOT NULL AUTO_INCREMENT,
  hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'SHA-256 of the token, which nobody can read again',
  name VARCHAR(64) NOT NULL,
  user_id INT NOT NULL COMMENT 'whose rights it has, as far as its scopes go',
  scopes VARCHAR(64) NOT NULL COMMENT 'read, run, write, admin between commas',
  created_ms BIGINT NOT NULL COMMENT 'by the clock of the database, as the next two',
  expires_ms BIGINT NULL COMMENT 'NULL: never',
  used_ms BIGINT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY shardwheel_token_hash (hash),
  KEY shardwheel_token_user (user_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_view (
  id INT NOT NULL AUTO_INCREMENT,
  user_id INT NOT NULL COMMENT 'of xxl_job_user, who has saved it',
  page VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'jobs, runs',
  name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  query VARCHAR(2000) NOT NULL COMMENT 'filters and order, as they stand in the address bar',
  PRIMARY KEY (id),
  UNIQUE KEY shardwheel_view_name (user_id, page, name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_login (
  who VARCHAR(110) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'u:NAME or a:ADDRESS that failed to log in lately',
  failures INT NOT NULL,
  last_ms BIGINT NOT NULL COMMENT 'by the clock of the database',
  PRIMARY KEY (who),
  KEY shardwheel_login_last (last_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_minute (
  minute_s BIGINT NOT NULL COMMENT 'epoch second at which it begins',
  incarnation VARCHAR(32) NOT NULL COMMENT 'node that counted',
  fires INT NOT NULL COMMENT 'that ended: taken by an executor, or not delivered',
  undelivered INT NOT NULL COMMENT 'of them',
  succeeded INT NOT NULL COMMENT 'runs that ended well',
  failed INT NOT NULL COMMENT 'runs that ended badly, or were lost',
  late_sum_ms BIGINT NOT NULL COMMENT 'from the due second to the request, of all fires that were sent',
  lateness VARCHAR(300) NOT NULL COMMENT 'these fires by bound of lateness (docs/metrics.md), between commas',
  PRIMARY KEY (minute_s, incarnation)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_event (
  id BIGINT NOT NULL AUTO_INCREMENT,
  at_ms BIGINT NOT NULL COMMENT 'by the clock of the database',
  until_ms BIGINT NULL COMMENT 'of what lasted: its end',
  kind VARCHAR(32) NOT NULL,
  node VARCHAR(128) NOT NULL COMMENT 'that saw it',
  shard INT NULL,
  job_id INT NULL,
  job_group INT NOT NULL COMMENT 'whose users may see it; 0: all users',
  detail TEXT NOT NULL COMMENT 'one sentence',
  data_json TEXT NULL COMMENT 'of a job that was changed elsewhere: its schedule from then on',
  PRIMARY KEY (id),
  KEY shardwheel_event_at (at_ms),
  KEY shardwheel_event_job (job_id, at_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_flow (
  id INT NOT NULL AUTO_INCREMENT,
  name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'as in the document of its newest version',
  started TINYINT NOT NULL COMMENT '1: its schedule is followed',
  version INT NOT NULL COMMENT 'the newest one, with which new runs begin',
  next_s BIGINT NULL COMMENT 'epoch second of its next due time; NULL: none',
  failing TINYINT NOT NULL DEFAULT 0 COMMENT '1: its last run that ended by itself failed',
  changed_ms BIGINT NOT NULL COMMENT 'by the clock of the database',
  PRIMARY KEY (id),
  UNIQUE KEY shardwheel_flow_name (name),
  KEY shardwheel_flow_next (next_s)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_flow_version (
  flow_id INT NOT NULL,
  version INT NOT NULL,
  document MEDIUMTEXT NOT NULL COMMENT 'JSON, see docs/flows.md; never changed',
  at_ms BIGINT NOT NULL COMMENT 'by the clock of the database',
  who VARCHAR(100) NOT NULL,
  PRIMARY KEY (flow_id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_flow_run (
  id BIGINT NOT NULL AUTO_INCREMENT COMMENT 'its shard is id % N',
  flow_id INT NOT NULL,
  version INT NOT NULL COMMENT 'of the flow, with which it began',
  state TINYINT NOT NULL COMMENT '0 in line, 1 running, 2 succeeded, 3 failed, 4 cancelled, 5 skipped',
  kind CHAR(1) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'C schedule, F misfire, M by hand, A API, P step of another run',
  due_s BIGINT NOT NULL COMMENT 'epoch second that it stands for',
  parameters MEDIUMTEXT NULL COMMENT 'JSON object of those that were given',
  request_key VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'of who asked for it: the same key gives the same run',
  parent_run BIGINT NULL COMMENT 'of which it is a step',
  parent_step INT NULL,
  depth INT NOT NULL COMMENT '0: it is no step',
  who VARCHAR(100) NOT NULL COMMENT 'who asked for it; empty: its schedule',
  created_ms BIGINT NOT NULL COMMENT 'by the clock of the database, as all times of runs and steps',
  started_ms BIGINT NULL,
  ended_ms BIGINT NULL,
  look_ms BIGINT NULL COMMENT 'when its owner is to look at it; 0: at once; NULL: it has ended',
  late_told TINYINT NOT NULL COMMENT '1: its deadline has passed, and people were told',
  message VARCHAR(500) NULL COMMENT 'why it did not start, or failed',
  PRIMARY KEY (id),
  UNIQUE KEY shardwheel_flow_run_key (flow_id, request_key),
  KEY shardwheel_flow_run_look (look_ms),
  KEY shardwheel_flow_run_state (flow_id, state, id),
  KEY shardwheel_flow_run_ended (flow_id, ended_ms),
  KEY shardwheel_flow_run_parent (parent_run)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_flow_step (
  run_id BIGINT NOT NULL COMMENT 'a row for each step that does not wait for others any more',
  step INT NOT NULL COMMENT 'its place in the document, from 0',
  state TINYINT NOT NULL COMMENT '0 waiting, 1 running, 2 succeeded, 3 failed, 4 skipped, 5 cancelled',
  log_id BIGINT NULL COMMENT 'of a job: row of xxl_job_log of its last try',
  child_run BIGINT NULL COMMENT 'of a flow: its run',
  tries INT NOT NULL,
  lost INT NULL COMMENT 'of these, runs that were lost and sent again',
  wake_ms BIGINT NULL COMMENT 'when a wait is over, or the next try is made',
  started_ms BIGINT NULL,
  ended_ms BIGINT NULL,
  code INT NULL COMMENT 'of its run, when it has ended',
  address VARCHAR(255) NULL COMMENT 'of the executor',
  result MEDIUMTEXT NULL COMMENT 'what the executor reported; of a map or a broadcast a JSON array',
  message VARCHAR(1000) NULL COMMENT 'why it failed, was skipped or waits',
  items INT NULL COMMENT 'of a map or a broadcast: how many',
  items_begun INT NULL,
  items_ended INT NULL,
  items_failed INT NULL,
  who VARCHAR(100) NULL COMMENT 'who decided by hand',
  remark VARCHAR(500) NULL,
  PRIMARY KEY (run_id, step)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_flow_item (
  run_id BIGINT NOT NULL COMMENT 'a row for each item of a map, and each address of a broadcast, that has begun',
  step INT NOT NULL,
  item INT NOT NULL COMMENT 'from 0',
  state TINYINT NOT NULL COMMENT 'as of a step',
  log_id BIGINT NULL COMMENT 'row of xxl_job_log of its last try',
  tries INT NOT NULL,
  lost INT NULL COMMENT 'of these, runs that were lost and sent again',
  wake_ms BIGINT NULL COMMENT 'when the next try is made',
  started_ms BIGINT NULL,
  ended_ms BIGINT NULL,
  code INT NULL,
  address VARCHAR(255) NULL,
  result MEDIUMTEXT NULL,
  message VARCHAR(1000) NULL,
  PRIMARY KEY (run_id, step, item),
  KEY shardwheel_flow_item_wake (wake_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_flow_fire (
  log_id BIGINT NOT NULL COMMENT 'row of xxl_job_log of a try whose end the flow has not seen yet',
  run_id BIGINT NOT NULL,
  step INT NOT NULL,
  item INT NOT NULL COMMENT '-1: the step has none',
  PRIMARY KEY (log_id),
  KEY shardwheel_flow_fire_run (run_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_flow_request (
  id BIGINT NOT NULL AUTO_INCREMENT COMMENT 'what people ask of a run; its owner does it and deletes the row',
  run_id BIGINT NOT NULL,
  step INT NOT NULL COMMENT '-1: it is about the run',
  action VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'cancel, rerun; of a step: retry, skip, done, approve, reject',
  who VARCHAR(100) NOT NULL,
  remark VARCHAR(500) NOT NULL,
  PRIMARY KEY (id),
  KEY shardwheel_flow_request_run (run_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_flow_alarm (
  id BIGINT NOT NULL AUTO_INCREMENT COMMENT 'what people are to be told of a flow; deleted when they were',
  flow_id INT NOT NULL,
  run_id BIGINT NOT NULL,
  event VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'failed, late, recovered',
  at_ms BIGINT NOT NULL COMMENT 'by the clock of the database',
  PRIMARY KEY (id),
  KEY shardwheel_flow_alarm_at (at_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_kept_log (
  log_id BIGINT NOT NULL COMMENT 'row of xxl_job_log whose log it is',
  job_id INT NOT NULL,
  at_ms BIGINT NOT NULL COMMENT 'when its executor gave it, by the clock of the database',
  bytes INT NOT NULL COMMENT 'of data',
  text_bytes INT NOT NULL COMMENT 'of the text',
  is_cut TINYINT NOT NULL COMMENT '1: lines in its middle or at its end were left out; a line in it says so',
  data MEDIUMBLOB NOT NULL COMMENT 'the text in UTF-8, as zlib compresses it',
  PRIMARY KEY (log_id),
  KEY shardwheel_kept_log_at (at_ms, bytes)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_rule (
  id INT NOT NULL AUTO_INCREMENT COMMENT 'of alarms on what did not happen; those of one job are in shardwheel_job',
  kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'no_success, long_run, not_done, few_executors, late_shard',
  tag VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'of jobs; empty: any',
  app_name VARCHAR(64) NOT NULL COMMENT 'of the executor group; empty: any',
  bound BIGINT NOT NULL COMMENT 'seconds; of not_done minutes from midnight, of few_executors a number',
  changed_ms BIGINT NOT NULL COMMENT 'by the clock of the database',
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_watch (
  kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'as in shardwheel_rule: what did not happen',
  target BIGINT NOT NULL COMMENT 'id of the job or group, or the shard',
  phase TINYINT NOT NULL COMMENT '0 people are to be told, 1 they were, 2 they are to be told that it is over',
  since_ms BIGINT NOT NULL COMMENT 'by the clock of the database',
  log_id BIGINT NOT NULL COMMENT 'of the run; 0: none',
  detail VARCHAR(200) NOT NULL COMMENT 'one sentence',
  PRIMARY KEY (kind, target)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_held (
  channel VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'that has quiet hours: what it is to be told when they end',
  kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'as in shardwheel_watch, or job_failed',
  target BIGINT NOT NULL,
  is_over TINYINT NOT NULL COMMENT '1: that it is over, 0: that it is not',
  PRIMARY KEY (channel, kind, target)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_hook (
  id INT NOT NULL AUTO_INCREMENT COMMENT 'a webhook that is told of events',
  name VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  target VARCHAR(2000) NOT NULL COMMENT 'its URL: a secret',
  secret VARCHAR(500) NOT NULL COMMENT 'what it is signed with; empty: nothing',
  kinds INT NOT NULL COMMENT 'bits: 1 run ended, 2 job changed, 4 flow ended',
  only_failed TINYINT NOT NULL COMMENT '1: of runs and flows those alone that failed',
  app_names VARCHAR(4000) NOT NULL COMMENT 'of executor groups, between commas; empty: all',
  tags VARCHAR(2000) NOT NULL COMMENT 'of jobs, between commas; empty: all',
  enabled TINYINT NOT NULL,
  changed_ms BIGINT NOT NULL COMMENT 'by the clock of the database, as all below',
  failures INT NOT NULL DEFAULT 0 COMMENT 'tries in a row for which it was away',
  next_ms BIGINT NOT NULL DEFAULT 0 COMMENT 'it is not tried before',
  sent_ms BIGINT NULL COMMENT 'when it last took one',
  error VARCHAR(300) NOT NULL DEFAULT '' COMMENT 'of its last try; empty: it took it',
  PRIMARY KEY (id),
  UNIQUE KEY shardwheel_hook_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_delivery (
  id BIGINT NOT NULL AUTO_INCREMENT COMMENT 'of an event, for one webhook',
  hook_id INT NOT NULL,
  kind TINYINT NOT NULL COMMENT 'number of the bit in shardwheel_hook',
  line BIGINT NOT NULL COMMENT 'those of one line are sent in order: id of the job, or of the flow below 0',
  log_id BIGINT NULL COMMENT 'of the run that has ended',
  code INT NOT NULL COMMENT 'with which it has; 0: no run',
  audit_id BIGINT NOT NULL COMMENT 'of the change of a job; else 0',
  run_id BIGINT NOT NULL COMMENT 'of the flow run; else 0',
  made_ms BIGINT NOT NULL COMMENT 'by the clock of the database, as all below',
  since_ms BIGINT NOT NULL COMMENT 'since when it waits: it was made, or is to be sent again',
  state TINYINT NOT NULL COMMENT '0 waiting, 1 sent, 2 given up',
  tries INT NOT NULL COMMENT 'since then',
  next_ms BIGINT NOT NULL COMMENT 'it is not tried before',
  ended_ms BIGINT NULL COMMENT 'when it was sent or given up',
  status INT NOT NULL COMMENT 'HTTP status of the last answer; 0: none',
  error VARCHAR(300) NOT NULL COMMENT 'of the last try; empty: it went well',
  PRIMARY KEY (id),
  UNIQUE KEY shardwheel_delivery_run (log_id, hook_id, code),
  KEY shardwheel_delivery_wait (hook_id, state, id),
  KEY shardwheel_delivery_next (hook_id, state, next_ms, line),
  KEY shardwheel_delivery_job (line, id),
  KEY shardwheel_delivery_ended (state, ended_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
