// SPDX-License-Identifier: MIT
/** sides: which two versions are compared: those that the address names, else the newest one with the one before. Pure. */

/** `versions`: newest first. 0: there is none, and everything is new. */
export function pickSides(versions: readonly number[], before: number, after: number): [number, number] | undefined {
  const newest = versions[0]
  if (newest === undefined) return undefined
  const right = versions.includes(after) ? after : newest
  const older = versions[versions.indexOf(right) + 1] ?? 0
  return [versions.includes(before) ? before : older, right]
}
