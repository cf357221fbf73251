// SPDX-License-Identifier: MIT
/**
 * zone: in which time zone the console shows times: that of the browser, of the server, or each job's own. One switch
 * for all pages; the others show on hover (Moment).
 */
import { computed, ref } from 'vue'
import { browserZone, isZone } from '@/model/time'

export type ZoneChoice = 'browser' | 'server' | 'job'
const KEY = 'sw.zone'

function read(): ZoneChoice {
  const stored = localStorage.getItem(KEY)
  return stored === 'server' || stored === 'job' ? stored : 'browser'
}

export const zoneChoice = ref<ZoneChoice>(read())
/** The cluster's zone, as the server says it (frame). */
export const serverZone = ref('UTC')

export function setZone(choice: ZoneChoice): void {
  zoneChoice.value = choice
  localStorage.setItem(KEY, choice)
}

/** The zone to show a time in; `jobZone` is the job's own where it has one. */
export function pickZone(choice: ZoneChoice, server: string, jobZone?: string | null): string {
  const wanted = choice === 'browser' ? browserZone : choice === 'server' ? server : jobZone || server
  return isZone(wanted) ? wanted : 'UTC'
}

export function useZone(jobZone?: () => string | null | undefined) {
  return computed(() => pickZone(zoneChoice.value, serverZone.value, jobZone?.()))
}
