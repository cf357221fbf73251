// SPDX-License-Identifier: MIT
/** result: what an executor said at the end of a step, as it is shown: JSON with its lines, anything else as it is. Pure. */
export function showResult(text: string | null | undefined, short = false): string {
  if (!text) return ''
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? JSON.stringify(value, null, short ? undefined : 2) : text
  } catch {
    return text
  }
}
