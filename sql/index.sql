-- SPDX-License-Identifier: MIT
-- Indexes that shardwheel can use and does not need: make those that pay for you. A Java admin works with them as
-- without. A node looks which there are when it starts: restart nodes behind a change, and before an index is dropped.

-- Lists of runs of one job, or of one executor group, newest first and in any range of time. With 10 million rows such
-- a page takes milliseconds; without them and without the index over job_id alone (xxl-job 2.5 and later has it), or
-- over job_group alone (3.4 and later), one that has few runs takes seconds or is given up. Both together cost 60 bytes
-- of redo log per fire, some ms CPU of the database per 1,000 fires (tools/bench.d/store_bench.c: 3, -1 and 9 ms on a
-- busy machine), and 48 bytes on disk for each row. Made while nodes run: 25 s for 10 million rows.
CREATE INDEX i_shardwheel_job ON xxl_job_log (job_id, trigger_time);
CREATE INDEX i_shardwheel_group ON xxl_job_log (job_group, trigger_time);

-- Lists and counts of one executor group's jobs. With 100,000 jobs in 20 groups a node answered ten times as many of
-- the console's lists (/jobinfo/pageList counts each time): docs/benchmarks.md. It costs fires nothing, as they do not
-- change the group of a job.
CREATE INDEX i_shardwheel_jobs ON xxl_job_info (job_group);

-- Finds due jobs without reading the whole table. It costs 12 to 16 ms CPU of the database per 1,000 fires, and saves
-- 15 to 30 ms per 100,000 jobs in each second and for each node: it pays where jobs x nodes are more than about 80
-- times the fires per second.
CREATE INDEX i_shardwheel_next ON xxl_job_info (trigger_status, trigger_next_time);
