// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { LIMITS } from '@/api/limits'
import { changeOf, FORM_FIELDS, formOf, judge, merge, newForm, newJobOf, theirChanges, type Job, type JobForm } from './form'

const JOB: Job = {
  id: 7,
  jobGroup: 2,
  name: 'order-sync',
  author: 'ann',
  alarmEmail: null,
  scheduleType: 'CRON',
  scheduleConf: '0 0 3 * * ?',
  misfireStrategy: 'DO_NOTHING',
  executorRouteStrategy: 'FIRST',
  executorHandler: 'orderSync',
  executorParam: null,
  executorBlockStrategy: 'SERIAL_EXECUTION',
  executorTimeout: 30,
  executorFailRetryCount: 0,
  glueType: 'BEAN',
  glueSource: null,
  glueRemark: null,
  childJobId: null,
  running: false,
  nextFireAt: null,
  addedAt: null,
  updatedAt: null,
  glueUpdatedAt: null,
  settings: {
    timeZone: null,
    fixedDelaySeconds: null,
    validFrom: null,
    validUntil: null,
    retryWaitSeconds: null,
    retryWaitMaxSeconds: null,
    holdSeconds: null,
    resendLost: false,
    retentionDays: null,
    successWithinSeconds: null,
    longestRunSeconds: null,
    doneBy: null,
    tags: ['a'],
    keptLogs: null,
  },
  lastRun: null,
}

function edited(changes: Partial<JobForm>): JobForm {
  return { ...formOf(JOB), ...changes }
}

test('every member of a job stands in the form', () => {
  const schedule = ['scheduleType', 'scheduleConf', 'fixedDelaySeconds']
  const members = Object.keys(LIMITS.job).map((name) => (schedule.includes(name) ? 'schedule' : name))
  expect([...new Set(members)].sort()).toEqual([...FORM_FIELDS].sort())
})

test('only what differs is sent', () => {
  const base = formOf(JOB)
  expect(changeOf(base, formOf(JOB))).toEqual({})
  expect(changeOf(base, edited({ keptLogs: 'all' }))).toEqual({ settings: { keptLogs: 'all' } })
  expect(changeOf(edited({ keptLogs: 'all' }), base)).toEqual({ settings: { keptLogs: null } })
  expect(changeOf(base, edited({ executorTimeout: '60', name: 'x' }))).toEqual({ name: 'x', executorTimeout: 60 })
  expect(changeOf(base, edited({ tags: [], holdSeconds: '30', timeZone: 'UTC' }))).toEqual({
    settings: { tags: null, holdSeconds: 30, timeZone: 'UTC' },
  })
})

test('a fixed delay is a setting; what follows it takes it back', () => {
  const base = formOf(JOB)
  const delayed = edited({ scheduleType: 'FIX_DELAY', delay: '10' })
  expect(changeOf(base, delayed)).toEqual({ settings: { fixedDelaySeconds: 10 } })
  expect(changeOf(delayed, edited({ scheduleType: 'FIX_RATE', rate: '10' }))).toEqual({
    scheduleType: 'FIX_RATE',
    scheduleConf: '10',
    settings: { fixedDelaySeconds: null },
  })
  expect(changeOf(base, edited({ scheduleType: 'NONE' }))).toEqual({ scheduleType: 'NONE', scheduleConf: '' })
  // what is typed for a type that is not chosen is not sent
  expect(changeOf(base, edited({ rate: '99' }))).toEqual({})
})

test('a job with a fixed delay is told from one that a Java admin has changed since', () => {
  const settings = { ...JOB.settings, fixedDelaySeconds: 10 }
  expect(formOf({ ...JOB, scheduleType: 'FIX_RATE', scheduleConf: '10', settings }).scheduleType).toBe('FIX_DELAY')
  expect(formOf({ ...JOB, scheduleType: 'FIX_RATE', scheduleConf: '20', settings }).scheduleType).toBe('FIX_RATE')
  expect(formOf({ ...JOB, settings }).scheduleType).toBe('CRON')
})

test('a new job has what is needed, and a source where it is GLUE', () => {
  const form = { ...newForm('ann', 2), name: 'n', cron: '0 0 3 * * ?', executorHandler: 'h' }
  expect(newJobOf(form, 'r')).toEqual({
    jobGroup: 2,
    name: 'n',
    author: 'ann',
    glueType: 'BEAN',
    scheduleType: 'CRON',
    scheduleConf: '0 0 3 * * ?',
    executorHandler: 'h',
  })
  const glue = newJobOf({ ...form, glueType: 'GLUE_SHELL', glueSource: 'echo', executorHandler: '' }, 'made here')
  expect(glue).toMatchObject({ glueType: 'GLUE_SHELL', glueSource: 'echo', glueRemark: 'made here' })
  expect(glue.executorHandler).toBeUndefined()
})

test('a copy has everything of the job, its source too', () => {
  const job = { ...JOB, glueType: 'GLUE_SHELL', glueSource: 'date', executorParam: 'p' }
  expect(newJobOf(formOf(job), 'copied')).toMatchObject({
    name: 'order-sync',
    executorTimeout: 30,
    executorParam: 'p',
    glueSource: 'date',
    settings: { tags: ['a'] },
  })
})

test('emptiness, length and numbers are judged at the field', () => {
  expect(judge(edited({}))).toEqual({})
  expect(judge(edited({ name: ' ', executorHandler: '' }))).toEqual({
    name: { code: 'required' },
    executorHandler: { code: 'required' },
  })
  expect(judge(edited({ executorHandler: '', glueType: 'GLUE_SHELL' }))).toEqual({})
  expect(judge(edited({ author: 'é'.repeat(65) })).author).toEqual({ code: 'tooLong', n: 64 })
  expect(judge(edited({ executorTimeout: '1.5', retentionDays: '0' }))).toMatchObject({
    executorTimeout: { code: 'number' },
    retentionDays: { code: 'range', from: 1 },
  })
  expect(judge(edited({ cron: '' })).scheduleConf).toEqual({ code: 'required' })
  expect(judge(edited({ scheduleType: 'FIX_DELAY', delay: '0' })).scheduleConf?.code).toBe('range')
  expect(judge({ ...newForm('ann'), name: 'n', cron: 'x', executorHandler: 'h' })).toEqual({
    jobGroup: { code: 'required' },
  })
})

test('two people: what only the other one changed comes in, what both changed is asked', () => {
  const base = formOf(JOB)
  const theirs = edited({ executorTimeout: '60', author: 'bob', executorParam: 'same' })
  const mine = edited({ executorTimeout: '90', name: 'mine', executorParam: 'same' })
  expect(theirChanges(base, theirs, mine)).toEqual([
    { field: 'author', base: 'ann', theirs: 'bob', mine: undefined },
    { field: 'executorParam', base: '', theirs: 'same', mine: undefined },
    { field: 'executorTimeout', base: '30', theirs: '60', mine: '90' },
  ])
  const kept = merge(base, theirs, mine, [])
  expect(changeOf(theirs, kept)).toEqual({ name: 'mine', executorTimeout: 90 })
  const taken = merge(base, theirs, mine, ['executorTimeout'])
  expect(changeOf(theirs, taken)).toEqual({ name: 'mine' })
})
