// SPDX-License-Identifier: MIT
/** rules: what a form of a rule says, as api/v1 wants it. Pure. */
import type { Schemas } from '@/api/client'

export type Rule = Schemas['AlarmRule']
export type WatchKind = Schemas['WatchKind']
export const WATCH_KINDS: readonly WatchKind[] = ['no_success', 'long_run', 'not_done', 'few_executors', 'late_shard']

export interface RuleForm {
  kind: WatchKind
  tag: string
  group: string
  /** Seconds, or a number of executors. */
  limit: string
  doneBy: string
}

export function formOf(rule: Rule | null): RuleForm {
  return {
    kind: rule?.kind ?? 'no_success',
    tag: rule?.tag ?? '',
    group: rule?.group ?? '',
    limit: rule?.limit == null ? '' : String(rule.limit),
    doneBy: rule?.doneBy ?? '',
  }
}

export const isOfJobs = (kind: WatchKind): boolean => kind !== 'few_executors' && kind !== 'late_shard'
export const isOfGroups = (kind: WatchKind): boolean => kind !== 'late_shard'

/** Which of its members is wrong before the server is asked. */
export function faultOf(form: RuleForm): 'limit' | 'doneBy' | undefined {
  if (form.kind === 'not_done') return /^([01]\d|2[0-3]):[0-5]\d$/.test(form.doneBy.trim()) ? undefined : 'doneBy'
  return /^\d{1,9}$/.test(form.limit.trim()) ? undefined : 'limit'
}

type Members = { tag?: string | null; group?: string | null; limit?: number; doneBy?: string }

function membersOf(form: RuleForm): Members {
  const members: Members =
    form.kind === 'not_done' ? { doneBy: form.doneBy.trim() } : { limit: Number(form.limit.trim()) }
  if (isOfJobs(form.kind)) members.tag = form.tag.trim() || null
  if (isOfGroups(form.kind)) members.group = form.group || null
  return members
}

export function newBody(form: RuleForm): Members & { kind: WatchKind } {
  return { kind: form.kind, ...membersOf(form) }
}

export const changedBody = membersOf
