// SPDX-License-Identifier: MIT
/** time: instants and durations as people read them. Pure; zones by Intl. */

export interface ShownTime {
  date: string // 2026-11-22
  clock: string // 14:35:00
}

const formats = new Map<string, Intl.DateTimeFormat>()

function formatFor(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
    formats.set(zone, format)
  }
  return format
}

export const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

/** Whether this browser knows the zone. */
export function isZone(zone: string): boolean {
  try {
    formatFor(zone)
    return true
  } catch {
    return false
  }
}

export function showTime(at: number | string, zone: string): ShownTime {
  const parts: Record<string, string> = {}
  for (const part of formatFor(zone).formatToParts(new Date(at))) parts[part.type] = part.value
  return {
    date: `${parts.year}-${parts.month}-${parts.day}`,
    clock: `${parts.hour}:${parts.minute}:${parts.second}`,
  }
}

/** 2026-11-22 14:35:00 */
export function showInstant(at: number | string, zone: string): string {
  const shown = showTime(at, zone)
  return `${shown.date} ${shown.clock}`
}

/** +08:00 of the zone at that instant. */
export function showOffset(at: number | string, zone: string): string {
  const name = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
    .formatToParts(new Date(at))
    .find((p) => p.type === 'timeZoneName')?.value
  return name === 'GMT' || !name ? '+00:00' : name.replace('GMT', '')
}

/** An instant in each of the zones, a line each. Zones that this browser does not know are left out. */
export function showInZones(at: number | string, zones: readonly string[]): string {
  const known = [...new Set(zones)].filter(isZone)
  return known.map((zone) => `${showInstant(at, zone)} ${showOffset(at, zone)} ${zone}`).join('\n')
}

/**
 * The instant of a wall-clock time in a zone, `2026-11-22 02:30[:15]`; NaN where it is no such text. A time that a
 * change of the clocks leaves out is taken behind the gap.
 */
export function parseInZone(text: string, zone: string): number {
  const match = /^(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2})(?::(\d{2}))?$/.exec(text.trim())
  if (!match) return NaN
  const wanted = Date.UTC(+match[1]!, +match[2]! - 1, +match[3]!, +match[4]!, +match[5]!, +(match[6] ?? 0))
  let at = wanted
  for (let i = 0; i < 3; i++) {
    const shown = showTime(at, zone)
    const missing = wanted - Date.parse(`${shown.date}T${shown.clock}Z`)
    if (missing === 0) return at
    if (i === 2) return Math.max(at, at + missing)
    at += missing
  }
  return at
}

export interface Duration {
  unit: 'ms' | 's' | 'min' | 'h' | 'd'
  /** The figure and a smaller one: 2 min 10 s. */
  value: number
  rest: number
}

/** The two units that matter of a length of time. */
export function splitDuration(ms: number): Duration {
  const abs = Math.abs(ms)
  if (abs < 1000) return { unit: 'ms', value: Math.round(abs), rest: 0 }
  if (abs < 10_000) return { unit: 's', value: Math.round(abs / 100) / 10, rest: 0 }
  const s = Math.round(abs / 1000)
  if (s < 60) return { unit: 's', value: s, rest: 0 }
  if (s < 3600) return { unit: 'min', value: Math.floor(s / 60), rest: s % 60 }
  if (s < 86_400) return { unit: 'h', value: Math.floor(s / 3600), rest: Math.floor((s % 3600) / 60) }
  return { unit: 'd', value: Math.floor(s / 86_400), rest: Math.floor((s % 86_400) / 3600) }
}
