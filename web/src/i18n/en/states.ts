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
    planned: 'due',
    sending: 'being sent',
    waiting: 'waits for an executor',
    running: 'running for {time}',
    success: 'succeeded in {time}',
    failed: 'failed',
    timeout: 'stopped: it took longer than its limit',
    undelivered: 'could not be sent',
    blocked: 'refused: the run before it was not over',
    replaced: 'stopped to make room for the next run',
    lost: 'lost: no result came',
    unknown: 'it is unknown whether it was delivered',
    skipped: 'skipped',
  },
  word: {
    under: 'less than 1 s',
    ended: 'succeeded',
    going: 'running',
    reason: '{text}: {reason}',
    late: 'sent {time} late',
    retried: 'sent again',
    and: ', ',
    at: '{time}: {text}',
    skippedMany: 'skipped {n}',
  },
}
