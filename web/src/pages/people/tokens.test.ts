// SPDX-License-Identifier: MIT
import { describe, expect, it } from 'vitest'
import { curlLine, expiryAfter, expiryState } from './tokens'

const now = Date.parse('2026-11-22T12:00:00Z')
const day = 86_400_000
const made = (ago: number, left: number | null) => ({
  createdAt: new Date(now - ago * day).toISOString(),
  expiresAt: left === null ? null : new Date(now + left * day).toISOString(),
})

describe('expiry', () => {
  it('is so many days on, in whole seconds, or never', () => {
    expect(expiryAfter(30, now)).toBe('2026-12-22T12:00:00Z')
    expect(expiryAfter(0, now)).toBeNull()
  })
  it('is soon in the last 14 days of a long one, in the last fifth of a short one', () => {
    expect(expiryState(made(100, 13), now)).toBe('soon')
    expect(expiryState(made(100, 15), now)).toBe('later')
    expect(expiryState(made(0, 7), now)).toBe('later')
    expect(expiryState(made(3, 4), now)).toBe('later')
    expect(expiryState(made(6, 1), now)).toBe('soon')
  })
  it('is over at its instant', () => {
    expect(expiryState(made(1, 0), now)).toBe('expired')
    expect(expiryState(made(1, null), now)).toBe('never')
  })
})

it('the line to try names the server as the browser sees it', () => {
  expect(curlLine('https://sw.example/x', 'swt_1')).toBe(
    "curl -H 'Authorization: Bearer swt_1' https://sw.example/x/api/v1/session",
  )
})
