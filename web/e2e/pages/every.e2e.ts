// SPDX-License-Identifier: MIT
// Every page, in both themes and on a phone: nothing serious found by axe-core, nothing wider than the window, texts of
// strangers shown as text, every link of the console leads somewhere.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findViolations, findWide, settle } from '../look'
import { closeBrowser, Person } from '../person'
import { stage } from '../stage'
import { places } from './places'

const looks = [
  { name: 'light', theme: 'light', width: 1280, height: 800 },
  { name: 'dark', theme: 'dark', width: 1280, height: 800 },
  { name: 'phone', theme: 'light', width: 390, height: 844 },
] as const

let run = 0
beforeAll(async () => {
  const p = await Person.arrive({ user: 'admin' })
  for (let i = 0; i < 60 && !run; i++) {
    const answer = await p.context.request.get(`${p.url}/api/v1/runs?jobId=${stage.jobs.steady}&limit=1`)
    run = ((await answer.json()) as { items: { id: number }[] }).items[0]?.id ?? 0
    if (!run) await p.page.waitForTimeout(500)
  }
  expect(run).toBeGreaterThan(0)
  await p.context.close()
})
afterAll(closeBrowser)

describe.each(looks)('$name', (look) => {
  test('every page', { timeout: 180_000 }, async () => {
    const wrong: string[] = []
    const links = new Set<string>()
    const p = await Person.arrive({ user: 'admin', ...look })
    for (const place of places(run)) {
      p.problems.length = 0
      await p.go(place.path)
      try {
        await settle(p)
      } catch (e) {
        wrong.push(`${place.name}: ${(e as Error).message.split('\n')[0]}`)
        continue
      }
      for (const v of await findViolations(p)) wrong.push(`${place.name}: ${v}`)
      for (const w of await p.page.evaluate(findWide)) wrong.push(`${place.name}: ${w}`)
      const strangers = await p.page.locator('main img[src="x"], main script').count()
      if (strangers) wrong.push(`${place.name}: text of strangers became elements`)
      const found = await p.page.locator('a[href]').evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).href))
      for (const href of found) links.add(href.replace(/[?#].*/, ''))
      for (const problem of p.problems) wrong.push(`${place.name}: ${problem}`)
    }
    const known = [
      /\/(|jobs|flows|import|runs|executors|cluster|alarms|events|events\/deliveries|users|tokens|account|audit|settings|help|login)$/,
      /\/(jobs|flows|flow-runs|runs|executors)\/\d+(\/[a-z]+)?$/,
      /\/flows\/new$/,
    ]
    for (const href of links) {
      if (!href.startsWith(p.url)) continue
      const answer = await p.context.request.get(href)
      const { pathname } = new URL(href)
      const isPage = known.some((k) => k.test(pathname))
      if (!answer.ok()) wrong.push(`link ${href}: HTTP ${answer.status()}`)
      else if (!isPage && /text\/html/.test(answer.headers()['content-type'] ?? '') && !href.includes('/docs/'))
        wrong.push(`link ${href}: no page of the console`)
    }
    await p.context.close()
    expect(wrong).toEqual([])
  })
})
