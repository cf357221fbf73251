// SPDX-License-Identifier: MIT
// The words of the eight ticks.
export default {
  planned: 'planned',
  running: 'running',
  success: 'succeeded',
  failed: 'failed',
  retried: 'failed, retried',
  late: 'fired late',
  skipped: 'skipped',
  unknown: 'unknown',
  // What became of a run, by its outcome's code.
  outcome: {
    planned: 'planned',
    sending: 'being sent',
    waiting: 'waiting for an executor',
    running: 'running for {time}',
    success: 'succeeded in {time}',
    failed: 'failed',
    timeout: 'timed out',
    undelivered: 'could not be sent',
    blocked: 'refused: the previous run was still running',
    replaced: 'ended: the next run replaced it',
    lost: 'lost: no result received',
    unknown: 'delivery unknown',
    skipped: 'skipped',
  },
  word: {
    under: 'less than 1 s',
    ended: 'succeeded',
    going: 'running',
    reason: '{text}: {reason}',
    late: 'sent {time} late',
    retried: 'retried',
    and: ', ',
    at: '{time}: {text}',
    skippedMany: 'skipped {n}',
  },
}
