// SPDX-License-Identifier: MIT
import { beforeEach, expect, test } from 'vitest'
import { FORM_FIELDS, newForm } from './form'
import { rankHandlers } from './handlers'
import { MORE, summaryOf } from './sections'
import { i18n, translate } from '@/i18n'
import en from '@/i18n/en'

beforeEach(() => i18n.global.setLocaleMessage('en', en as never))

test('every setting stands in the form once', () => {
  const first = ['name', 'jobGroup', 'executorHandler', 'schedule', 'executorParam'] // FirstFields.vue
  expect([...first, ...Object.values(MORE).flat()].sort()).toEqual([...FORM_FIELDS].sort())
})

test('a closed section says what is set in it', () => {
  const form = newForm('ann')
  const said = (name: keyof typeof MORE, zone = 'UTC') => summaryOf(name, form, zone, translate)
  expect(said('fail')).toBe('')
  expect(said('kept')).toBe('')
  expect(said('told')).toBe('Owner: ann')
  expect(said('where')).toBe('Routing strategy: First · Block strategy: Serial execution (queue)')
  Object.assign(form, {
    executorTimeout: '30',
    executorFailRetryCount: '2',
    resendLost: true,
    childJobId: '5, 7',
    tags: ['a', 'b'],
  })
  expect(said('fail')).toBe('Timeout: 30 s · Retries: 2 · Resend lost runs: Yes · Child jobs: #5, #7')
  expect(said('kept')).toBe('Tags: a, b')
  Object.assign(form, { timeZone: 'Asia/Shanghai', validFrom: '2026-11-22T00:00:00.000Z' })
  expect(said('when', 'Asia/Shanghai')).toBe(
    'Time zone: Asia/Shanghai · Start date: 2026-11-22 08:00:00 · Misfire strategy: Skip',
  )
  expect(said('when', 'No/Where')).toContain('Start date: 2026-11-22T00:00:00.000Z')
})

test('handlers of a group are offered once, the most used first', () => {
  expect(rankHandlers(['b', null, 'c', 'c', '', 'a'])).toEqual(['c', 'a', 'b'])
  expect(rankHandlers([])).toEqual([])
})
