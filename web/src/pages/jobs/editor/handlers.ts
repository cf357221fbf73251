// SPDX-License-Identifier: MIT
/** Handlers that jobs use, each once, the most used first. Pure. */
export function rankHandlers(used: readonly (string | null)[]): string[] {
  const counts = new Map<string, number>()
  for (const name of used) if (name) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name)
}
