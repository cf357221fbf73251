/* SPDX-License-Identifier: MIT */
/*
 * codes: trigger_code and handle_code of xxl_job_log, and the codes of the executor API: the original's, docs/wire.md.
 */
#ifndef SHARDWHEEL_JOB_CODES_H
#define SHARDWHEEL_JOB_CODES_H

enum run_code {
    CODE_OPEN = 0,      /* not written yet */
    CODE_OK = 200,      /* the executor took the job; the job did well */
    CODE_FAILED = 500,  /* not sent or refused; the job did badly */
    CODE_TIMEOUT = 502, /* handle_code: the executor ended the job at its time limit */
};

#endif
