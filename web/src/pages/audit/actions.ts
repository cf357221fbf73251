// SPDX-License-Identifier: MIT
/** actions: words and links for what the audit names by a code. */
import type { RouteLocationRaw } from 'vue-router'
import type { Schemas } from '@/api/client'
import type { MessageKey } from '@/i18n'
import audit from '@/i18n/en/audit'

export type AuditRow = Schemas['AuditRow']
export type Kind = keyof typeof audit.kinds
export const KINDS = Object.keys(audit.kinds) as Kind[]

/** The key of its words; undefined for one that this console does not know. */
export function actionKey(action: string): MessageKey | undefined {
  const [kind = '', what = ''] = action.split('.')
  const known = audit.action as Record<string, Record<string, string>>
  return known[kind]?.[what] === undefined ? undefined : (`audit.action.${kind}.${what}` as MessageKey)
}

/** Where the thing is; undefined where it has no page, or none any more. */
export function targetOf(row: Pick<AuditRow, 'action' | 'target'>): RouteLocationRaw | undefined {
  const [kind = '', what] = row.action.split('.')
  const id = String(row.target)
  if (kind === 'node' || kind === 'shard' || kind === 'cluster') return { name: 'cluster' }
  if (kind === 'alarm' || kind === 'channel' || kind === 'rule') return { name: 'alarms' }
  if (kind === 'hook') return { name: 'events' }
  if (kind === 'token') return { name: 'tokens' }
  if (what === 'remove' || row.target === 0) return undefined
  if (kind === 'job' || row.action === 'run.clear') return { name: 'job', params: { id } }
  if (kind === 'flow') return what === 'delete' ? undefined : { name: 'flow', params: { id } }
  if (kind === 'glue') return { name: 'glue', params: { id } }
  if (kind === 'run') return { name: 'run', params: { id } }
  if (kind === 'group') return { name: 'executor', params: { id } }
  return kind === 'user' || kind === 'session' ? { name: 'users' } : undefined
}
