// SPDX-License-Identifier: MIT
/** fields: the filters of the list of runs, as they stand in the address bar. Pure. */
import { cleanStates } from './results'
import type { RunFilter } from '@/components/runs/useRunList'
import { choiceField, flagField, numberField, textField, type Field, type Fields } from '@/model/filters'
import { rangeOf, RANGES, type Range } from '@/model/ranges'

/** An instant, or nothing. */
const instantField = (): Field<string> => ({
  initial: '',
  read: (s) => (Number.isNaN(Date.parse(s)) ? undefined : new Date(s).toISOString()),
  write: (v) => v,
})

const statesField = (): Field<string> => ({ initial: '', read: cleanStates, write: (v) => v })

export interface RunValues {
  jobId: number | undefined
  jobGroup: number | undefined
  result: string
  /** Those that went out late. */
  late: boolean | undefined
  range: Range
  from: string
  to: string
  address: string
  text: string
}

export const RUN_FIELDS: Fields<RunValues> = {
  jobId: numberField(),
  jobGroup: numberField(),
  result: statesField(),
  late: flagField(),
  range: choiceField(RANGES, 'any'),
  from: instantField(),
  to: instantField(),
  address: textField(),
  text: textField(),
}

/** What a list is asked for. */
export function toFilter(values: RunValues): RunFilter {
  const { jobId, jobGroup, result, late, from, to, address, text } = values
  const range = rangeOf(values.range, { from, to })
  const own = range === 'own' ? { from: from || undefined, to: to || undefined } : {}
  return { jobId, jobGroup, result, late: late || undefined, address: address.trim(), text: text.trim(), range, ...own }
}
