// SPDX-License-Identifier: MIT
/**
 * runWords: what became of a run, in one sentence of the user's language, and as a tick. For lists, rows of ticks and
 * the page of a run; all that say it say it with these words.
 *
 *   runSentence(run)   "failed: connection refused, sent 4 s late, sent again"
 *   tickOf(run)        state, sentence with its time, and which run it leads to
 */
import { durationText } from './duration'
import { pickZone, serverZone, zoneChoice } from './zone'
import { translate } from '@/i18n'
import { reasonWords } from '@/model/reason-words'
import { partsOfRun, stateOfRun, type RunLike } from '@/model/run-words'
import { isOdd, type TickData } from '@/model/ticks'
import { showInstant } from '@/model/time'

/** Whole seconds, as the log has them. */
export function secondsText(seconds: number): string {
  return seconds > 0 ? durationText(seconds * 1000) : translate('states.word.under')
}

export function runSentence(run: RunLike, now = Date.now()): string {
  const parts = partsOfRun(run, now)
  const time = parts.seconds === null ? '' : secondsText(parts.seconds)
  const plain = { running: 'states.word.going', success: 'states.word.ended' } as const
  const code = run.outcome.code
  const text =
    (code === 'running' || code === 'success') && !time
      ? translate(plain[code])
      : parts.skipped > 1
        ? translate('states.word.skippedMany', { n: parts.skipped })
        : translate(`states.outcome.${code}`, { time })
  const reason = parts.code ? reasonWords(parts.code, parts.value, translate) : parts.reason
  const first = reason ? translate('states.word.reason', { text, reason }) : text
  const more = [first]
  if (parts.lateSeconds) more.push(translate('states.word.late', { time: secondsText(parts.lateSeconds) }))
  if (parts.isRetried) more.push(translate('states.word.retried'))
  return more.join(translate('states.word.and'))
}

/**
 * `jobZone`: that of the job, for the choice "each job's own". `whyJob`: the job, where a tick that is not green is to
 * lead to why it is not; its runs are linked there.
 */
export function tickOf(run: RunLike, jobZone?: string | null, whyJob?: number): TickData {
  const at = run.dueTime ?? run.triggerTime
  const text = runSentence(run)
  const zone = pickZone(zoneChoice.value, serverZone.value, jobZone)
  const state = stateOfRun(run)
  return {
    state,
    label: at ? translate('states.word.at', { time: showInstant(at, zone), text }) : text,
    run: run.id,
    lateMs: run.lateSeconds * 1000,
    why: whyJob !== undefined && at && isOdd(state) ? { job: whyJob, at, run: run.id } : undefined,
  }
}
