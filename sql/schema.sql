-- SPDX-License-Identifier: MIT
-- A whole xxl-job database (tables as versions 3.4.0 to 3.4.2 have them) for a fresh installation.
-- `shardwheel install-schema` runs this on an empty database. By hand: set the SHA-256 of the admin's password first:
--   SET @admin_password_sha256 = SHA2('the password', 256);
-- A statement ends with ';' at the end of a line. xxl_job_info comes last: where it is, the installation was finished.

CREATE TABLE IF NOT EXISTS xxl_job_lock (
  lock_name VARCHAR(50) NOT NULL,
  PRIMARY KEY (lock_name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS xxl_job_group (
  id INT(11) NOT NULL AUTO_INCREMENT,
  app_name VARCHAR(64) NOT NULL,
  title VARCHAR(64) NOT NULL,
  address_type TINYINT(4) NOT NULL DEFAULT 0 COMMENT '0 from the registry, 1 by hand',
  address_list TEXT NULL COMMENT 'joined by commas',
  update_time DATETIME NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS xxl_job_registry (
  id BIGINT(20) NOT NULL AUTO_INCREMENT,
  registry_group VARCHAR(50) NOT NULL,
  registry_key VARCHAR(255) NOT NULL COMMENT 'app_name of the executor',
  registry_value VARCHAR(255) NOT NULL COMMENT 'its address',
  update_time DATETIME NULL,
  PRIMARY KEY (id),
  UNIQUE KEY i_g_k_v (registry_group, registry_key, registry_value)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS xxl_job_logglue (
  id INT(11) NOT NULL AUTO_INCREMENT,
  job_id INT(11) NOT NULL,
  glue_type VARCHAR(50) NULL,
  glue_source MEDIUMTEXT NULL,
  glue_remark VARCHAR(128) NOT NULL,
  add_time DATETIME NULL,
  update_time DATETIME NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS xxl_job_log (
  id BIGINT(20) NOT NULL AUTO_INCREMENT,
  job_group INT(11) NOT NULL,
  job_id INT(11) NOT NULL,
  executor_address VARCHAR(255) NULL,
  executor_handler VARCHAR(255) NULL,
  executor_param TEXT NULL,
  executor_sharding_param VARCHAR(20) NULL COMMENT 'index/total of a broadcast',
  executor_fail_retry_count INT(11) NOT NULL DEFAULT 0 COMMENT 'retries left',
  trigger_time DATETIME NULL,
  trigger_code INT(11) NOT NULL COMMENT '0 open, 200 taken by the executor, else failed',
  trigger_msg TEXT NULL,
  handle_time DATETIME NULL,
  handle_code INT(11) NOT NULL COMMENT '0 open, 200 success, else failed',
  handle_msg TEXT NULL,
  alarm_status TINYINT(4) NOT NULL DEFAULT 0 COMMENT '0 open, -1 taken by a monitor, 1 none needed, 2 done, 3 failed',
  PRIMARY KEY (id),
  KEY I_trigger_time (trigger_time),
  KEY I_handle_code (handle_code),
  KEY I_jobgroup (job_group),
  KEY I_jobid (job_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS xxl_job_log_report (
  id INT(11) NOT NULL AUTO_INCREMENT,
  trigger_day DATETIME NULL,
  running_count INT(11) NOT NULL DEFAULT 0,
  suc_count INT(11) NOT NULL DEFAULT 0,
  fail_count INT(11) NOT NULL DEFAULT 0,
  update_time DATETIME NULL,
  PRIMARY KEY (id),
  UNIQUE KEY i_trigger_day (trigger_day)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS xxl_job_user (
  id INT(11) NOT NULL AUTO_INCREMENT,
  username VARCHAR(50) NOT NULL,
  password VARCHAR(100) NOT NULL COMMENT 'SHA-256 as hex',
  token VARCHAR(100) NULL COMMENT 'of the present login',
  role TINYINT(4) NOT NULL COMMENT '0 normal, 1 admin',
  permission VARCHAR(255) NULL COMMENT 'group ids of a normal user, joined by commas',
  PRIMARY KEY (id),
  UNIQUE KEY i_username (username)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

INSERT INTO xxl_job_lock (lock_name)
  SELECT 'schedule_lock' FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM xxl_job_lock WHERE lock_name = 'schedule_lock');

INSERT INTO xxl_job_group (id, app_name, title, address_type, address_list, update_time)
  SELECT 1, 'xxl-job-executor-sample', 'Sample executor', 0, NULL, NULL FROM DUAL
  WHERE NOT EXISTS (SELECT 1 FROM xxl_job_group);

INSERT INTO xxl_job_user (id, username, password, role, permission)
  SELECT 1, 'admin', @admin_password_sha256, 1, NULL FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM xxl_job_user);

CREATE TABLE IF NOT EXISTS xxl_job_info (
  id INT(11) NOT NULL AUTO_INCREMENT,
  job_group INT(11) NOT NULL,
  job_desc VARCHAR(255) NOT NULL,
  add_time DATETIME NULL,
  update_time DATETIME NULL,
  author VARCHAR(64) NULL,
  alarm_email VARCHAR(255) NULL COMMENT 'joined by commas',
  schedule_type VARCHAR(50) NOT NULL DEFAULT 'NONE' COMMENT 'NONE, CRON, FIX_RATE',
  schedule_conf VARCHAR(128) NULL,
  misfire_strategy VARCHAR(50) NOT NULL DEFAULT 'DO_NOTHING' COMMENT 'DO_NOTHING, FIRE_ONCE_NOW',
  executor_route_strategy VARCHAR(50) NULL,
  executor_handler VARCHAR(255) NULL,
  executor_param TEXT NULL,
  executor_block_strategy VARCHAR(50) NULL,
  executor_timeout INT(11) NOT NULL DEFAULT 0 COMMENT 'seconds; 0 none',
  executor_fail_retry_count INT(11) NOT NULL DEFAULT 0,
  glue_type VARCHAR(50) NOT NULL,
  glue_source MEDIUMTEXT NULL,
  glue_remark VARCHAR(128) NULL,
  glue_updatetime DATETIME NULL,
  child_jobid VARCHAR(255) NULL COMMENT 'joined by commas',
  trigger_status TINYINT(4) NOT NULL DEFAULT 0 COMMENT '0 stopped, 1 running',
  trigger_last_time BIGINT(13) NOT NULL DEFAULT 0 COMMENT 'epoch milliseconds',
  trigger_next_time BIGINT(13) NOT NULL DEFAULT 0 COMMENT 'epoch milliseconds',
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
