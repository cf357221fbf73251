// SPDX-License-Identifier: MIT
/** order: what is asked of the server when a job is run by hand. Pure. */
import type { paths } from '@/api/schema'
import { parseInZone, showInstant } from '@/model/time'

export interface RunChoice {
  /** Undefined: the job's own. */
  param: string | undefined
  addresses: string[]
  /** Wall-clock time in `zone`, as the field has it; empty: now. */
  at: string
  zone: string
}

export type RunOrder = NonNullable<
  paths['/api/v1/jobs/{id}/trigger']['post']['requestBody']
>['content']['application/json']

export function makeOrder(choice: RunChoice): RunOrder {
  const order: RunOrder = {}
  if (choice.param !== undefined) order.executorParam = choice.param
  const addresses = choice.addresses.map((a) => a.trim()).filter((a) => a)
  if (addresses.length) order.addressList = addresses
  if (choice.at) order.at = new Date(parseInZone(choice.at, choice.zone)).toISOString()
  return order
}

/** What is wrong with the time, if anything. */
export function checkTime(at: string, zone: string, now: number): 'none' | 'unreadable' | 'past' {
  if (!at) return 'none'
  const instant = parseInZone(at, zone)
  if (Number.isNaN(instant)) return 'unreadable'
  return instant < Math.floor(now / 1000) * 1000 ? 'past' : 'none'
}

/** Five minutes from now, as a field of date and time has it. */
export function soon(zone: string, now: number): string {
  return showInstant(now + 5 * 60_000, zone).slice(0, 16).replace(' ', 'T')
}
