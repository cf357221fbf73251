// SPDX-License-Identifier: MIT
// From the due time to the end of a run: a bar, and words for each part.
import { afterAll, expect, test } from 'vitest'
import { findViolations, findWide, settle } from '../look'
import { closeBrowser, doTask } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

test.each([
  ['light', 1280],
  ['dark', 390],
] as const)('a run that was late and took a while: %s, %d', (theme, width) =>
  doTask(`see the times of a run (${theme} ${width})`, { user: 'admin', theme, width }, async (p) => {
    await p.go(`/runs/${stage.runs.late}`)
    await settle(p)
    const words = await p.get('run-phase').allTextContents()
    expect(words).toHaveLength(2)
    expect(words[0]).toMatch(/00:00:00.*00:00:05/)
    expect(words[1]).toMatch(/00:00:05.*00:01:20/)
    const widths = await p
      .get('run-times')
      .locator('.bar span')
      .evaluateAll((all) => all.map((e) => e.getBoundingClientRect().width))
    expect(widths[0]! * 10).toBeLessThan(widths[1]!) // 5 s beside 75 s
    expect(await findViolations(p)).toEqual([])
    expect(await p.page.evaluate(findWide)).toEqual([])
  }),
)

test('a run that could not be sent has none', () =>
  doTask('no times of a run that was not sent', { user: 'admin' }, async (p) => {
    const answer = await p.context.request.get(`${p.url}/api/v1/runs?jobId=${stage.jobs.nobody}&result=failed&limit=1`)
    const { items } = (await answer.json()) as { items: { id: number }[] }
    await p.go(`/runs/${items[0]!.id}`)
    await settle(p)
    await p.see(p.get('run-sentence'))
    expect(await p.get('run-times').count()).toBe(0)
  }))
