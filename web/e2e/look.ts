// SPDX-License-Identifier: MIT
/** look: what is seen of a page by rules: axe-core's, and that nothing is wider than the window. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect } from 'vitest'
import type { Person } from './person'

interface Violation {
  id: string
  impact: string | null
  nodes: { html: string; failureSummary?: string }[]
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Until no part of the page loads any more. */
export async function settle(p: Person): Promise<void> {
  await p.see(p.page.locator('h1'))
  await expect.poll(() => p.get('state-loading').count(), { timeout: 20_000 }).toBe(0)
}

export async function findViolations(p: Person): Promise<string[]> {
  // By the debugger's way in: the page's CSP lets no script of ours in.
  const session = await p.context.newCDPSession(p.page)
  await session.send('Runtime.evaluate', { expression: axe })
  const { result } = await session.send('Runtime.evaluate', {
    // What is half-way from one color to another has neither's contrast.
    expression: `Promise.all(document.getAnimations()
        .filter(a => a.playState === 'running' && a.effect.getComputedTiming().endTime < 5000)
        .map(a => a.finished.catch(() => null)))
      .then(() => axe.run(document, { resultTypes: ['violations'] })).then(r => JSON.stringify(r.violations))`,
    awaitPromise: true,
  })
  const found = JSON.parse(result.value as string) as Violation[]
  return found
    .filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html.slice(0, 200)} ${n.failureSummary ?? ''}`))
}

/** What is wider than the window by itself, in the words of its tag and class. */
export function findWide(): string[] {
  const width = document.documentElement.clientWidth
  if (document.documentElement.scrollWidth <= width && document.querySelector('main')!.scrollWidth <= width) return []
  return [...document.querySelectorAll('main *')]
    .filter((e) => e.getBoundingClientRect().right > width + 1)
    .slice(0, 5)
    .map((e) => `${e.tagName}.${e.className} reaches ${Math.round(e.getBoundingClientRect().right)} of ${width}`)
}
