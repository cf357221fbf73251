// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import type { Schemas } from '@/api/client'
import { i18n, translate, type Language } from '@/i18n'
import en from '@/i18n/en'
import zhCN from '@/i18n/zh-CN'
import zhTW from '@/i18n/zh-TW'
import { eventSentence, explainSentence, todoWords, type Explained, type Wording } from './explain-words'

const LANGUAGES: Language[] = ['en', 'zh-CN', 'zh-TW']
const AT = '2026-11-22T16:00:05.000Z'
const w: Wording = { t: translate, instant: (at) => at.slice(11, 19), seconds: (n) => `${n} s` }

function speak(language: Language): void {
  ;(i18n.global.locale as { value: string }).value = language
}

beforeEach(() => {
  i18n.global.setLocaleMessage('en', en as never)
  i18n.global.setLocaleMessage('zh-CN', zhCN as never)
  i18n.global.setLocaleMessage('zh-TW', zhTW as never)
  speak('en')
})

/** The values of an enum of the server's document. */
function valuesOf(schema: string): string[] {
  const text = readFileSync(new URL('../../../src/http/v1/openapi/history.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { schemas: Record<string, { enum: string[] }> }).schemas[schema]!.enum
}

function say(reason: string, facts: Schemas['ExplainFacts'] = {}, origin: string = 'due'): string {
  return explainSentence({ reason, origin, facts } as Explained, w)
}

const end = (reason: string, more: object = {}) => ({ reason, run: 101, code: 500, ...more }) as Schemas['ExplainEnd']

test('every reason has words of its own in each language, with and without facts', () => {
  for (const language of LANGUAGES) {
    speak(language)
    for (const full of [false, true]) {
      const seen = new Map<string, string>()
      for (const reason of valuesOf('ExplainReason')) {
        const facts = full
          ? { until: AT, change: { at: AT, who: 'ann', via: 'api/v1' }, outage: { kind: 'node-died', node: 'n2', from: AT, until: null } }
          : {}
        const text = say(reason, facts as Schemas['ExplainFacts'])
        expect(text, reason).not.toMatch(/reasons\.|\{/)
        expect(text, reason).toMatch(/[.。]$/)
        expect(seen.get(text), `${reason} in ${language}`).toBeUndefined()
        seen.set(text, reason)
        expect(todoWords({ reason, origin: 'due', facts: {} } as Explained, translate)).not.toMatch(/reasons\./)
      }
    }
    for (const origin of valuesOf('ExplainOrigin')) {
      const text = say('succeeded', { end: end('succeeded') }, origin)
      expect(text, origin).not.toMatch(/reasons\.|\{/)
      expect(text).toContain(say('succeeded', { end: end('succeeded') }).slice(1))
    }
    expect(say('succeeded', { end: end('succeeded'), flowRun: 77 }, 'flow')).toContain('77')
    for (const cause of valuesOf('ExplainCause'))
      expect(say('undelivered', { end: end('undelivered', { cause }) }), cause).not.toMatch(/reasons\.|\{/)
    for (const kind of valuesOf('EventKind')) expect(eventSentence(event(kind), w), kind).not.toMatch(/reasons\.|\{/)
  }
})

function event(kind: string, facts: object = { version: '1', shardsBefore: 8, shardsAfter: 4, count: 3, scheduleType: 'CRON', scheduleConf: '0 * * * * ?', running: true }): Schemas['Event'] {
  return { id: 1, at: AT, until: null, kind, node: 'n1', shard: 3, job: null, facts, text: 'As it was said.' } as Schemas['Event']
}

const SENTENCES: [string, Schemas['ExplainFacts'], string, string][] = [
  ['succeeded', { end: end('succeeded', { tookSeconds: 3 }) }, 'Fired on time, succeeded in 3 s.', '准时触发，执行成功，耗时 3 s。'],
  [
    'succeeded',
    { lateSeconds: 12, outage: { kind: 'database-away', node: 'n1', from: AT, until: AT }, end: end('succeeded') },
    'Fired 12 s late because the database was unavailable from 16:00:05 to 16:00:05, succeeded.',
    '延迟 12 s 触发，因为数据库从 16:00:05 到 16:00:05 不可用，执行成功。',
  ],
  [
    'failed',
    { end: end('failed', { message: 'boom' }), retry: { number: 1, of: 3, end: end('succeeded', { run: 102, tookSeconds: 2 }) } },
    'Fired on time, failed in the executor: boom; retry 1 of 3 (run 102): succeeded in 2 s.',
    '准时触发，执行器执行失败：boom；第 1/3 次重试（调度日志 102）：执行成功，耗时 2 s。',
  ],
  [
    'undelivered',
    { end: end('undelivered', { cause: 'unreachable', address: 'http://a/', message: 'not sent: Connection refused' }), retryAt: AT },
    'Fired on time, executor http://a/ did not accept it: cannot connect to the executor: not sent: Connection refused; the next retry is at 16:00:05.',
    '准时触发，执行器 http://a/ 没有接收：连不上执行器：not sent: Connection refused；下次重试在 16:00:05。',
  ],
  [
    'undelivered',
    { end: end('undelivered', { cause: 'no-executor', message: 'no address: no executor of group x is registered' }) },
    'Fired on time, no executor accepted it: no executor of the group is registered.',
    '准时触发，没有执行器接收：该执行器没有任何在线机器。',
  ],
  [
    'killed',
    { end: end('killed', { killedBy: 'ann', endedAt: AT }) },
    'Fired on time, killed by ann at 16:00:05.',
    '准时触发，被手动终止（操作人 ann）（16:00:05）。',
  ],
  [
    'stopped',
    { change: { at: AT, who: 'ann', via: 'console A' } },
    'Not fired: the job was stopped (ann via console A, 16:00:05).',
    '没有触发：任务当时处于停止状态（ann，console A，16:00:05）。',
  ],
  [
    'stopped',
    { ahead: true, change: { at: AT, who: null, via: null } },
    'Will not fire: the job is stopped (changed outside shardwheel, 16:00:05).',
    '不会触发：任务已停止（在 shardwheel 之外修改，16:00:05）。',
  ],
  [
    'skipped',
    { skipped: { dueTimes: 4, misfireStrategy: 'DO_NOTHING', because: 'late' } },
    'Skipped by the misfire strategy, as one of 4 due times (DO_NOTHING): no node had planned it in time.',
    '按调度过期策略跳过，共 4 个触发时间之一（DO_NOTHING）：当时没有节点及时计划。',
  ],
  [
    'broadcast',
    { broadcast: { executors: 3, succeeded: 1, running: 0, failed: 2, open: 0 }, end: end('lost', { message: 'gone' }) },
    'Sent to 3 executors: 1 succeeded, 0 running, 2 failed, 0 without a result; run 101: its executor lost the run: gone.',
    '广播到 3 个执行器：成功 1，执行中 0，失败 2，无结果 0；调度日志 101：执行器丢失了这次执行：gone。',
  ],
]

test('what was said in standard words is said in those of the reader', () => {
  const failed = (reason: string, more: object) => say(reason, { end: end(reason, more) })
  const message = 'the executor answered with HTTP status 503'
  const status = { reasonCode: 'http-status', reasonValue: '503', message }
  expect(failed('undelivered', status)).toContain(': the executor answered with HTTP status 503')
  expect(failed('failed', { message: 'my own words' })).toContain(': my own words')
  const refused = { cause: 'unreachable', reasonCode: 'connection-refused', message: 'not sent: Connection refused' }
  expect(failed('undelivered', refused)).toContain(': connection refused, no executor')
  const limit = { reasonCode: 'time-limit', message: 'job execute timeout' }
  expect(failed('time-limit', limit)).not.toContain('job execute')
  speak('zh-CN')
  expect(failed('failed', { reasonCode: 'script-exit', reasonValue: '3', message: 'script exit' })).toContain('脚本退出码为 3')
})

test('sentences say what the facts say', () => {
  for (const [reason, facts, english, chinese] of SENTENCES) {
    speak('en')
    expect(say(reason, facts)).toBe(english)
    speak('zh-CN')
    expect(say(reason, facts)).toBe(chinese)
  }
  speak('en')
  expect(say('succeeded', { asked: { at: AT, who: 'ann', via: 'api/v1' }, end: end('succeeded') }, 'asked')).toBe(
    'Triggered by ann (api/v1): fired on time, succeeded.',
  )
})

test('events of older versions are as the server says them', () => {
  expect(eventSentence(event('resharded'), w)).toBe('The number of shards changed from 8 to 4.')
  expect(eventSentence(event('resharded', {}), w)).toBe('As it was said.')
  expect(eventSentence(event('shard-taken', {}), w)).toBe('Node n1 took over shard 3.')
  expect(eventSentence(event('moon-landed', {}), w)).toBe('As it was said.')
})

test('what executors say is text, whatever stands in it', () => {
  const message = "<b>{x} | @:y $t('z')</b>"
  expect(say('failed', { end: end('failed', { message }) })).toBe(`Fired on time, failed in the executor: ${message}.`)
})
