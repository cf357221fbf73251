// SPDX-License-Identifier: MIT
/** cron-fault: where an expression is wrong, as the server says it, and in which field that is. Pure. */
import { CRON_FIELDS, type CronField } from '@/model/cron-text'

export interface CronFault {
  before: string
  wrong: string
  after: string
  /** Undefined: it is the whole expression. */
  field: CronField | undefined
  isMissing: boolean
}

export function placeFault(text: string, position: number | null, length: number | null): CronFault {
  const chars = [...text]
  const at = Math.min(position ?? 0, chars.length)
  const end = Math.min(at + (length ?? chars.length), chars.length)
  const before = chars.slice(0, at).join('')
  const wrong = chars.slice(at, end).join('')
  const isWhole = position === null || /\S[ \t]+\S/.test(wrong)
  const isMissing = position !== null && wrong === ''
  // What is missing at the end is the field after the last one, with a space before it or without.
  const index = (isMissing ? `${before.trim()} ` : before).trimStart().split(/[ \t]+/).length - 1
  return {
    before,
    wrong,
    after: chars.slice(end).join(''),
    field: isWhole ? undefined : CRON_FIELDS[index],
    isMissing,
  }
}
