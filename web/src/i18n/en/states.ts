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
}
