// SPDX-License-Identifier: MIT
/** reason-words: why a run did not go well, by the server's code, in the reader's language. Pure. */
import type { Schemas } from '@/api/client'
import type { MessageKey, Translate } from '@/i18n'

export type RunReason = Schemas['RunReason']

/** Those that have words as causes; the others are `why`. */
const CAUSES: Record<Schemas['ExplainCause'], true> = {
  'no-executor': true,
  'no-group': true,
  unreachable: true,
  'no-answer': true,
  'all-busy': true,
  'none-alive': true,
  'too-late': true,
  stopping: true,
  'queue-full': true,
  'bad-address': true,
  'glue-off': true,
  'job-gone': true,
  'job-stopped': true,
  'no-memory': true,
}

/** `value`: what belongs to the code, such as the HTTP status. */
export function reasonWords(code: RunReason, value: string | undefined, t: Translate): string {
  if (code in CAUSES) return t(`reasons.cause.${code}` as MessageKey)
  const text = t(`reasons.why.${code}` as MessageKey, { value: value ?? '' })
  return code === 'killed' && value ? t('reasons.by', { text, who: value }) : text
}
