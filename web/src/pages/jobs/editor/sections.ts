// SPDX-License-Identifier: MIT
/** sections: what the editor shows only when it is asked for, and what is set there, in a line. Pure. */
import { fieldText, newForm, type JobForm, type SettingField } from './form'
import { codeWords, numberWords } from './words'
import type { Translate } from '@/i18n'
import { isZone, showInstant } from '@/model/time'

export const MORE = {
  when: ['timeZone', 'validFrom', 'validUntil', 'misfireStrategy'],
  where: ['executorRouteStrategy', 'executorBlockStrategy'],
  fail: [
    'executorTimeout',
    'executorFailRetryCount',
    'retryWaitSeconds',
    'retryWaitMaxSeconds',
    'holdSeconds',
    'resendLost',
    'childJobId',
  ],
  told: ['author', 'alarmEmail', 'successWithinSeconds', 'longestRunSeconds', 'doneBy'],
  kept: ['tags', 'retentionDays', 'keptLogs'],
} as const satisfies Record<string, readonly SettingField[]>
export type MoreSection = keyof typeof MORE
/** Worth to be said also as they begin: each of them is a choice. */
const ALWAYS: readonly SettingField[] = ['misfireStrategy', 'executorRouteStrategy', 'executorBlockStrategy', 'author']

function valueOf(form: JobForm, field: SettingField, zone: string, t: Translate): string {
  const raw = fieldText(form, field)
  const isTime = field === 'validFrom' || field === 'validUntil'
  if (isTime) return isZone(zone) ? showInstant(raw, zone) : raw
  if (field === 'childJobId') return raw.split(',').map((id) => `#${id.trim()}`).join(', ')
  return codeWords(field, raw, t) ?? numberWords(field, raw, t) ?? raw
}

/** "Timeout: 30 s · Retries: 2"; of a section in which nothing is set: '' */
export function summaryOf(section: MoreSection, form: JobForm, zone: string, t: Translate): string {
  const initial = newForm('')
  return MORE[section]
    .filter((field) => {
      const raw = fieldText(form, field)
      return raw !== '' && (ALWAYS.includes(field) || raw !== fieldText(initial, field))
    })
    .map((field) => `${t(`editor.field.${field}`)}: ${valueOf(form, field, zone, t)}`)
    .join(' · ')
}
