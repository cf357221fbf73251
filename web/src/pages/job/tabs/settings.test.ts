// SPDX-License-Identifier: MIT
import { beforeEach, expect, test } from 'vitest'
import { FORM_FIELDS, settingsOf, SHOWN_FIELDS, type Setting } from './settings'
import { mergeHistory } from './history'
import type { Schemas } from '@/api/client'
import { i18n, translate } from '@/i18n'
import en from '@/i18n/en'

beforeEach(() => i18n.global.setLocaleMessage('en', en as never))

const JOB = {
  id: 12, jobGroup: 3, name: 'order-sync', author: 'ann', alarmEmail: '', scheduleType: 'CRON', scheduleConf: '0 */5 * * * ?',
  misfireStrategy: 'DO_NOTHING', executorRouteStrategy: 'ROUND', executorHandler: 'orderSync', executorParam: null,
  executorBlockStrategy: 'SERIAL_EXECUTION', executorTimeout: 30, executorFailRetryCount: 0, glueType: 'BEAN', glueRemark: null,
  childJobId: '13,14', running: true, nextFireAt: null, addedAt: null, updatedAt: null, glueUpdatedAt: null, lastRun: null,
  settings: {
    timeZone: 'Asia/Shanghai', fixedDelaySeconds: null, validFrom: null, validUntil: '2027-01-01T00:00:00.000Z',
    retryWaitSeconds: null, retryWaitMaxSeconds: null, holdSeconds: 60, resendLost: false, retentionDays: null,
    successWithinSeconds: null, longestRunSeconds: null, doneBy: null, tags: [], keptLogs: null,
  },
} as unknown as Schemas['Job']

function find(job: Schemas['Job'], field: string): Setting {
  const all = settingsOf(job, { clusterZone: 'UTC', groupTitle: 'Orders' }, translate).flatMap((s) => s.settings)
  return all.find((s) => s.field === field)!
}

test('every setting of the editor is shown, once', () => {
  expect([...SHOWN_FIELDS].sort()).toEqual([...FORM_FIELDS, 'glueType'].sort())
})

test('settings are words; defaults and what xxl-job has not are told apart', () => {
  expect(find(JOB, 'schedule')).toMatchObject({ value: 'every 5 min', raw: 'CRON 0 */5 * * * ?', isDefault: false })
  expect(find(JOB, 'misfireStrategy')).toMatchObject({ value: 'Skip', isDefault: true })
  expect(find(JOB, 'executorRouteStrategy')).toMatchObject({ value: 'Round robin', raw: 'ROUND', isDefault: false })
  expect(find(JOB, 'executorTimeout')).toMatchObject({ value: '30 s', isDefault: false })
  expect(find(JOB, 'executorFailRetryCount')).toMatchObject({ value: 'none', isDefault: true })
  expect(find(JOB, 'childJobId').jobs).toEqual([13, 14])
  expect(find(JOB, 'validUntil')).toMatchObject({ instant: '2027-01-01T00:00:00.000Z', java: 'A Java admin ignores the end date.' })
  expect(find(JOB, 'holdSeconds')).toMatchObject({ value: '60 s', java: 'With a Java admin the run fails immediately.' })
  expect(find(JOB, 'retentionDays')).toMatchObject({ value: 'as for all jobs', isDefault: true, java: undefined })
  expect(find(JOB, 'keptLogs')).toMatchObject({ value: 'as for all jobs', isDefault: true })
  expect(find({ ...JOB, settings: { ...JOB.settings, keptLogs: 'failed' } }, 'keptLogs')).toMatchObject({
    value: 'of failed runs',
    raw: '',
    isDefault: false,
  })
  expect(find(JOB, 'jobGroup').value).toBe('Orders')
  expect(find({ ...JOB, settings: { ...JOB.settings, timeZone: null } }, 'timeZone')).toMatchObject({ value: 'time zone of the cluster (UTC)', isDefault: true })
})

test('what others did stands between our changes, as far as these are loaded', () => {
  const change = (id: number, at: string) => ({ id, at }) as Schemas['AuditRow']
  const event = (id: number, at: string) => ({ id, at }) as Schemas['Event']
  const changes = [change(1, '2026-11-22T12:00:00Z'), change(2, '2026-11-22T10:00:00Z')]
  const events = [event(3, '2026-11-22T11:00:00Z'), event(4, '2026-11-22T09:00:00Z')]
  const ids = (more: boolean) => mergeHistory(changes, events, more).map((e) => ('change' in e ? e.change.id : e.event.id))
  expect(ids(false)).toEqual([1, 3, 2, 4])
  expect(ids(true)).toEqual([1, 3, 2])
})
