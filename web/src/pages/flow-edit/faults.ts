// SPDX-License-Identifier: MIT
/** faults: what the editor and the server find wrong with a flow, as one list in the order of the document. */
import type { ServerFault } from '@/api/flows'
import { translate } from '@/i18n'
import type { LocalFault } from '@/model/flow/check'

export interface Fault {
  where: string
  text: string
  mild: boolean
}

export const sayFault = (f: LocalFault): string => translate(`flowEdit.fault.${f.code}`, { of: f.of ?? '' })

/** The member that is missing is what the server speaks of, though its place is the object. */
function subjectOf(f: ServerFault): string {
  const missing = /^"(\w+)" is missing$/.exec(f.text)
  return missing ? `${f.where}/${missing[1]}` : f.where
}

/** Where both speak of a place, ours is said: it is in the user's language. */
export function groupFaults(local: readonly LocalFault[], server: readonly ServerFault[]): Fault[] {
  const ours = local.map((f) => ({
    where: f.where,
    text: sayFault(f),
    mild: f.mild === true,
  }))
  const said = new Set(ours.filter((f) => !f.mild).map((f) => f.where))
  // A circle is told once, for the whole flow, where we name the edge that closes it.
  const isCircle = (f: ServerFault) => local.some((l) => l.code === 'circle') && /circle/.test(f.text)
  const theirs = server.filter((f) => !said.has(f.where) && !said.has(subjectOf(f)) && !isCircle(f))
  const unique = theirs.filter((f, i) => theirs.findIndex((o) => o.where === f.where && o.text === f.text) === i)
  return [...ours, ...unique.map((f) => ({ ...f, mild: false }))]
}

/** What a place belongs to: a step, an edge, the parameters, or the settings. */
export type FaultHome =
  | { part: 'step'; at: number }
  | { part: 'edge'; at: number }
  | { part: 'parameters' }
  | { part: 'settings' }

export function homeOf(where: string): FaultHome {
  const found = /^\/(steps|edges)\/(\d+)/.exec(where)
  if (found) return { part: found[1] === 'steps' ? 'step' : 'edge', at: Number(found[2]) }
  return { part: where.startsWith('/parameters') ? 'parameters' : 'settings' }
}
