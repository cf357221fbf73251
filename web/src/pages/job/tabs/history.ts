// SPDX-License-Identifier: MIT
/** history: what was done to a job, and what was seen of it, in one list. Pure. */
import type { Schemas } from '@/api/client'

export type Entry = { at: number; change: Schemas['AuditRow'] } | { at: number; event: Schemas['Event'] }

/**
 * Newest first. Changes come in pages: events older than the last one that is loaded wait for the next page, if there is
 * one.
 */
export function mergeHistory(changes: Schemas['AuditRow'][], events: Schemas['Event'][], more: boolean): Entry[] {
  const last = changes[changes.length - 1]
  const least = more && last ? Date.parse(last.at) : -Infinity
  const all: Entry[] = [
    ...changes.map((change) => ({ at: Date.parse(change.at), change })),
    ...events.map((event) => ({ at: Date.parse(event.at), event })).filter((e) => e.at >= least),
  ]
  return all.sort((a, b) => b.at - a.at)
}
