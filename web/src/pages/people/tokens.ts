// SPDX-License-Identifier: MIT
/** tokens: how long they are good for, and which of them end soon. Pure. */
import type { Schemas } from '@/api/client'

export type Token = Schemas['Token']
export type Scope = Token['scopes'][number]
export const SCOPES = ['read', 'run', 'write', 'admin'] as const satisfies readonly Scope[]

/** Days; 0: for ever. */
export const LASTS = [1, 7, 30, 90, 365, 0] as const

const DAY_MS = 86_400_000
const SOON_MS = 14 * DAY_MS

export function expiryAfter(days: number, now: number): string | null {
  return days === 0 ? null : new Date(now + days * DAY_MS).toISOString().replace(/\.\d+Z$/, 'Z')
}

export type Expiry = 'never' | 'expired' | 'soon' | 'later'

/** Soon: within 14 days, but for a token that was made for so short a time: then in the last fifth of it. */
export function expiryState(token: Pick<Token, 'createdAt' | 'expiresAt'>, now: number): Expiry {
  if (token.expiresAt === null) return 'never'
  const end = new Date(token.expiresAt).getTime()
  if (end <= now) return 'expired'
  const whole = end - new Date(token.createdAt).getTime()
  return end - now < Math.min(SOON_MS, whole / 5) ? 'soon' : 'later'
}

/** A line to try the token with; any scope may ask who it is. */
export function curlLine(base: string, token: string): string {
  return `curl -H 'Authorization: Bearer ${token}' ${base}/api/v1/session`
}
