// SPDX-License-Identifier: MIT
/** problem: what an error of a call means, in the user's language. The server's own sentence is kept as `detail`. */
import { ApiError } from '@/api/client'
import { i18n, translate, type MessageKey } from '@/i18n'
import type common from '@/i18n/en/common'

export interface ErrorWords {
  text: string
  todo: string
  detail: string
  /** The member at fault, for the field that has it. */
  field: string | undefined
}

type Kind = keyof typeof common.problem

function isKind(kind: string): kind is Kind {
  return i18n.global.te(`common.problem.${kind}.text`)
}

export function describeError(error: unknown): ErrorWords {
  if (!(error instanceof ApiError))
    return { text: translate('common.problem.broken.text'), todo: '', detail: String(error), field: undefined }
  const { kind, detail, field, min, max } = error.problem
  const known: Kind = isKind(kind) ? kind : 'broken'
  const key = (part: 'text' | 'todo') => `common.problem.${known}.${part}` as MessageKey
  const todo = max === undefined ? translate(key('todo')) : translate('common.allowed', { min: min ?? 0, max })
  return { text: translate(key('text')), todo, detail, field }
}
