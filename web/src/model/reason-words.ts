// SPDX-License-Identifier: MIT
/** reason-words: why a run did not go well, by the server's code, in the reader's language. Pure. */
import type { Schemas } from '@/api/client'
import type { Translate } from '@/i18n'

export type RunReason = Schemas['RunReason']

/** `value`: what belongs to the code, such as the HTTP status. */
export function reasonWords(code: RunReason, value: string | undefined, t: Translate): string {
  const text = t(`reasons.why.${code}`, { value: value ?? '' })
  return code === 'killed' && value ? t('reasons.by', { text, who: value }) : text
}
