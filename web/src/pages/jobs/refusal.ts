// SPDX-License-Identifier: MIT
/** refusal: why one of many jobs was refused, in the user's language: its kind, and the member at fault. */
import { ApiError, type Problem } from '@/api/client'
import { translate } from '@/i18n'
import { describeError } from '@/composables/problem'

export function refusalText(kind: string | undefined, field?: string): string {
  if (kind === 'state' && field === 'scheduleType') return translate('jobs.noSchedule')
  const problem: Problem = { type: '', title: '', status: 400, detail: '', kind: (kind ?? 'broken') as Problem['kind'] }
  const words = describeError(new ApiError(400, problem))
  return field ? `${words.text} (${field})` : words.text
}
