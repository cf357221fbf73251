-- SPDX-License-Identifier: MIT
-- Fills a database that `shardwheel install-schema` has made: 100,000 jobs in 50 executor groups, and 10 million runs
-- of 30 days, on the keys of the oldest schema; sql/index.sql comes behind it. Two minutes and 6 GB on MariaDB:
--   mariadb DATABASE < tools/bench.d/runs.sql && mariadb DATABASE < sql/index.sql
-- One run of 20 is job 1's, a fifth are those of ten other busy jobs; group 60 has ten jobs, group 1 has 40 % of them.
-- One of 100 has failed, one of 1,000 was not sent, the newest thousand are running.
ALTER TABLE xxl_job_log MODIFY executor_param VARCHAR(512), DROP KEY I_jobgroup, DROP KEY I_jobid;
DELETE FROM xxl_job_info;
DELETE FROM xxl_job_group;
INSERT INTO xxl_job_group (id, app_name, title, address_type, address_list, update_time)
  SELECT seq, CONCAT('app-', seq), CONCAT('App ', seq), 1, 'http://10.0.0.1:9999/', NOW() FROM seq_1_to_60;
INSERT INTO xxl_job_info (id, job_group, job_desc, author, schedule_type, schedule_conf, misfire_strategy,
    executor_route_strategy, executor_handler, executor_param, executor_block_strategy, glue_type, trigger_status,
    trigger_next_time)
  SELECT seq, IF(seq % 10007 = 0, 60, IF(seq % 5 < 2, 1, 2 + seq % 48)), CONCAT('job ', seq), 'me', 'CRON',
    '0 0/5 * * * ?', 'DO_NOTHING', 'FIRST', CONCAT('handler', seq % 1000), 'p', 'SERIAL_EXECUTION', 'BEAN', 0, 0
  FROM seq_1_to_100000;
SET unique_checks = 0;
INSERT INTO xxl_job_log (id, job_group, job_id, executor_address, executor_handler, executor_param,
    executor_fail_retry_count, trigger_time, trigger_code, trigger_msg, handle_time, handle_code, handle_msg,
    alarm_status)
  SELECT n, IF(j % 10007 = 0, 60, IF(j % 5 < 2, 1, 2 + j % 48)), j,
    CONCAT('http://10.0.', j % 20, '.', n % 10, ':9999/'), CONCAT('handler', j % 1000), 'p', 0, t,
    IF(n % 1000 = 7, 500, 200),
    CONCAT('<!--sw:p:', UNIX_TIMESTAMP(t), ':7-->trigger type: cron<br>due: ', t, '<br>node: node-1<br>address type: ',
      'manual<br>route: FIRST<br>block strategy: SERIAL_EXECUTION<br>timeout: 0<br>retries: 0<br><br><span ',
      'style="color:#00c0ef;" > &gt;&gt;&gt;&gt;trigger run&lt;&lt;&lt;&lt; </span><br>address: ',
      'http://10.0.0.1:9999/<br>code: 200'),
    IF(n % 1000 = 7 OR n > 9999000, NULL, t),
    IF(n % 1000 = 7 OR n > 9999000, 0, IF(n % 100 = 3, 500, 200)),
    IF(n % 100 = 3, 'java.lang.IllegalStateException: nothing to do', ''), 1
  FROM (SELECT seq AS n, '2026-10-23 00:00:00' + INTERVAL FLOOR(seq * 0.2592) SECOND AS t,
    CASE WHEN seq % 20 = 0 THEN 1 WHEN seq % 5 = 1 THEN 2 + FLOOR(RAND(seq) * 10)
      ELSE 12 + FLOOR(RAND(seq) * 99978) END AS j FROM seq_1_to_10000000) x;
ANALYZE TABLE xxl_job_log;
