// SPDX-License-Identifier: MIT
/**
 * explain-words: what became of a due time in one sentence, made of the server's reason and facts. Every reason has its
 * words in i18n/*\/reasons.ts. Pure: how instants and lengths are written is handed in.
 */
import type { Schemas } from '@/api/client'
import { reasonWords, type RunReason } from './reason-words'
import type { Translate } from '@/i18n'

export type Explained = Pick<Schemas['ExplainedTime'], 'reason' | 'origin' | 'facts'>
type End = Schemas['ExplainEnd']
type Outage = NonNullable<Schemas['ExplainFacts']['outage']>

export interface Wording {
  t: Translate
  /** An instant, in the zone on screen. */
  instant: (at: string) => string
  /** A length of time. */
  seconds: (n: number) => string
}

const FAILURES: readonly Schemas['ExplainReason'][] = [
  'undelivered',
  'delivery-unknown',
  'block-refused',
  'block-ended',
  'killed',
  'lost',
  'time-limit',
  'failed',
]

export function hasFailed(reason: Schemas['ExplainReason']): boolean {
  return FAILURES.includes(reason)
}

function outageWords(outage: Outage, w: Wording): string {
  return w.t(`reasons.outage.${outage.kind}`, {
    node: outage.node,
    from: w.instant(outage.from),
    until: outage.until ? w.instant(outage.until) : '',
  })
}

/** The words of these say it already. */
const SAID: Partial<Record<Schemas['ExplainReason'], RunReason>> = {
  'delivery-unknown': 'delivery-unknown',
  'block-refused': 'block-discard-later',
  'block-ended': 'block-cover-early',
  'time-limit': 'time-limit',
  lost: 'lost',
}

/** What was said, where our own words for it do not say the same. */
function said(text: string, end: End, w: Wording): string {
  const isMoreThanCause = end.reasonCode !== undefined && end.reasonCode !== end.cause
  if (end.reason === 'undelivered' && end.cause && !isMoreThanCause) {
    const cause = w.t(`reasons.why.${end.cause}`)
    const withCause = w.t('reasons.said', { text, message: cause })
    const isMore = end.message && (end.cause === 'unreachable' || end.cause === 'no-answer')
    return isMore ? w.t('reasons.said', { text: withCause, message: end.message }) : withCause
  }
  const code = end.reasonCode
  if (code && code === SAID[end.reason]) return text
  const message = code ? reasonWords(code, end.reasonValue, w.t) : end.message
  return message ? w.t('reasons.said', { text, message }) : text
}

/** How a run stands, or how it ended, as a clause. */
export function endWords(end: End, w: Wording): string {
  let text = w.t(`reasons.reason.${end.reason}`)
  if (end.reason === 'succeeded' && end.tookSeconds !== undefined)
    return w.t('reasons.took', { text, time: w.seconds(end.tookSeconds) })
  if (end.reason === 'running' && end.address) return w.t('reasons.at', { text, address: end.address })
  if (end.reason === 'waiting' && end.waitsUntil)
    return w.t('reasons.waitsUntil', { text, time: w.instant(end.waitsUntil) })
  if (end.reason === 'killed') {
    if (end.killedBy) text = w.t('reasons.by', { text, who: end.killedBy })
    return end.endedAt ? w.t('reasons.when', { text, time: w.instant(end.endedAt) }) : text
  }
  if (end.reason === 'undelivered' && end.address) text = w.t('reasons.undeliveredAt', { address: end.address })
  return said(text, end, w)
}

function outWords(facts: Schemas['ExplainFacts'], w: Wording): string {
  const { lateSeconds, outage, byMisfire } = facts
  if (!lateSeconds) return w.t('reasons.out.onTime')
  const time = w.seconds(lateSeconds)
  if (outage) return w.t('reasons.out.lateBecause', { time, why: outageWords(outage, w) })
  return w.t(byMisfire ? 'reasons.out.byMisfire' : 'reasons.out.late', { time })
}

function retryWords(text: string, facts: Schemas['ExplainFacts'], w: Wording): string {
  const { retry, retryAt } = facts
  let all = text
  if (retry) {
    const { number: n, end } = retry
    const words = { n, of: Math.max(retry.of, n), run: end.run, text: endWords(end, w) }
    const key = !hasFailed(end.reason) ? 'reasons.retry.good' : n > 1 ? 'reasons.retry.all' : 'reasons.retry.one'
    all = w.t('reasons.then', { first: all, second: w.t(key, words) })
  }
  if (retryAt) all = w.t('reasons.then', { first: all, second: w.t('reasons.retry.at', { time: w.instant(retryAt) }) })
  return all
}

function changeWords(text: string, change: Schemas['ExplainWho'] | undefined, w: Wording): string {
  if (!change) return text
  const time = w.instant(change.at)
  if (change.who === null) return w.t('reasons.changedByOthers', { text, time })
  return w.t('reasons.changedBy', { text, who: change.who, via: change.via ?? '', time })
}

/** Of one that has a row. */
function rowWords(item: Explained, end: End, w: Wording): string {
  const text = endWords(end, w)
  if (item.reason === 'planned' || item.reason === 'waiting' || item.reason === 'open') return text
  const both = w.t('reasons.join', { first: outWords(item.facts, w), second: text })
  return hasFailed(item.reason) ? retryWords(both, item.facts, w) : both
}

function broadcastWords(facts: Schemas['ExplainFacts'], w: Wording): string {
  const text = w.t('reasons.reason.broadcast', { ...facts.broadcast })
  if (!facts.end) return text
  const failed = w.t('reasons.firstFailed', { run: facts.end.run, text: endWords(facts.end, w) })
  return w.t('reasons.then', { first: text, second: failed })
}

function skippedWords(facts: Schemas['ExplainFacts'], w: Wording): string {
  const { skipped, outage } = facts
  if (skipped?.because === 'restored') return w.t('reasons.skippedRestored', { n: skipped.dueTimes })
  let text = w.t('reasons.reason.skipped', { n: skipped?.dueTimes ?? 1 })
  if (skipped?.misfireStrategy) text = w.t('reasons.misfire', { text, strategy: skipped.misfireStrategy })
  if (outage) return w.t('reasons.because', { text, why: outageWords(outage, w) })
  if (!skipped?.because) return text
  return w.t(skipped.because === 'late' ? 'reasons.skippedLate' : 'reasons.skippedByHand', { text })
}

function originWords(item: Explained, text: string, w: Wording): string {
  const { asked, change } = item.facts
  if (item.origin === 'asked' && asked?.who)
    return w.t('reasons.askedBy', { who: asked.who, via: asked.via ?? '', text })
  if (item.origin === 'flow' && item.facts.flowRun !== undefined)
    return w.t('reasons.stepOf', { run: item.facts.flowRun, text })
  const words = w.t(`reasons.origin.${item.origin}`, { text })
  return item.origin === 'before-change' ? changeWords(words, change, w) : words
}

function clause(item: Explained, w: Wording): string {
  const { reason, facts } = item
  if (reason === 'broadcast') return originWords(item, broadcastWords(facts, w), w)
  if (facts.end) return originWords(item, rowWords(item, facts.end, w), w)
  if (reason === 'skipped') return skippedWords(facts, w)
  if (reason === 'stopped')
    return changeWords(w.t(facts.ahead ? 'reasons.isStopped' : 'reasons.reason.stopped'), facts.change, w)
  if (reason === 'not-planned' && facts.outage)
    return w.t('reasons.because', { text: w.t('reasons.reason.not-planned'), why: outageWords(facts.outage, w) })
  const text = w.t(`reasons.reason.${reason}`, { until: facts.until ? w.instant(facts.until) : '' })
  return changeWords(text, facts.change, w)
}

function asSentence(text: string, w: Wording): string {
  const closed = /[.。]$/.test(text) ? text : w.t('reasons.end', { text })
  return closed.charAt(0).toUpperCase() + closed.slice(1)
}

export function explainSentence(item: Explained, w: Wording): string {
  return asSentence(clause(item, w), w)
}

/** What happened to the cluster or to a job. Events of older versions know too little: then as the server says it. */
export function eventSentence(event: Schemas['Event'], w: Wording): string {
  const { facts, kind } = event
  const knows: Record<Schemas['EventKind'], boolean> = {
    'node-joined': facts.version !== undefined,
    'node-left': true,
    'node-died': true,
    'shard-taken': true,
    'shard-handed-over': true,
    'shard-lost': true,
    'database-away': event.until !== null,
    'zookeeper-away': event.until !== null,
    'guard-lost': true,
    resharded: facts.shardsAfter !== undefined,
    'job-changed': facts.scheduleType !== undefined,
    'left-out': facts.count !== undefined,
  }
  if (!knows[kind]) return event.text
  const length = event.until ? (Date.parse(event.until) - Date.parse(event.at)) / 1000 : 0
  const words = {
    node: event.node,
    shard: event.shard ?? '',
    version: facts.version ?? '',
    before: facts.shardsBefore ?? '',
    after: facts.shardsAfter ?? '',
    count: facts.count ?? '',
    time: w.seconds(Math.round(length)),
    schedule: `${facts.scheduleType ?? ''} ${facts.scheduleConf ?? ''}`.trim(),
    state: w.t(facts.running ? 'reasons.isRunning' : 'reasons.isNotRunning'),
  }
  return asSentence(w.t(facts.added ? 'reasons.eventAdded' : `reasons.event.${kind}`, words), w)
}

/** What to do about it. */
export function todoWords(item: Explained, t: Translate): string {
  return t(`reasons.todo.${item.reason}`)
}
