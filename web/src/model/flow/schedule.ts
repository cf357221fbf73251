// SPDX-License-Identifier: MIT
/** schedule: that of a flow as the parts of the console know it that are about jobs. Pure. */
import type { Schedule } from './document'
import type { Translate } from '@/i18n'
import { scheduleWords } from '@/model/schedule-words'

export type ScheduleType = 'NONE' | 'CRON' | 'FIX_RATE' | 'FIX_DELAY'

export function typeOfSchedule(schedule: Schedule | null | undefined): ScheduleType {
  if (schedule?.cron !== undefined) return 'CRON'
  if (schedule?.every !== undefined) return 'FIX_RATE'
  return schedule?.delay !== undefined ? 'FIX_DELAY' : 'NONE'
}

/** The expression, or the seconds. */
export function confOfSchedule(schedule: Schedule | null | undefined): string {
  return String(schedule?.cron ?? schedule?.every ?? schedule?.delay ?? '').trim()
}

/** In words; '' where there are no short and true ones. */
export function wordsOfSchedule(schedule: Schedule | null | undefined, t: Translate): string {
  const type = typeOfSchedule(schedule)
  if (type === 'NONE') return ''
  const isDelay = type === 'FIX_DELAY'
  return scheduleWords(
    {
      scheduleType: isDelay ? 'FIX_RATE' : type,
      scheduleConf: confOfSchedule(schedule),
      settings: isDelay ? { fixedDelaySeconds: schedule!.delay! } : {},
    },
    t,
  )
}
