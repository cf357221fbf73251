// SPDX-License-Identifier: MIT
// The log of a run whose executor is gone: read from what a node has kept, and said to be that.
import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { findViolations, findWide, settle } from '../look'
import { closeBrowser, doTask } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

test.each([
  ['light', 1280],
  ['dark', 1280],
  ['light', 390],
] as const)('read a kept log: %s, %d', (theme, width) =>
  doTask(`read a kept log (${theme} ${width})`, { user: 'admin', theme, width }, async (p) => {
    await p.go(`/runs/${stage.runs.kept}`)
    await settle(p)
    const said = p.w('run.log.kept').split('{time}')[0]!
    await p.see(p.get('log-kept').getByText(said.trim()))
    await p.see(p.get('log-kept').getByText(p.w('run.log.keptCut')))
    await p.see(p.get('log-line').filter({ hasText: 'line 40 of the kept log' }))
    await p.see(p.get('log-line').filter({ hasText: '<img src=x onerror=alert(1)>' })) // text of strangers is text
    await p.see(p.get('log-end'))
    expect(await p.page.locator('main img[src="x"]').count()).toBe(0)
    await p.get('log-search').fill('line 4')
    await p.see(p.get('log-hits').filter({ hasText: '2' })) // 4 and 40
    const download = p.page.waitForEvent('download')
    await p.click(p.get('log-download'))
    expect(readFileSync((await (await download).path())!, 'utf8')).toContain('line 40 of the kept log')
    expect(await findViolations(p)).toEqual([])
    expect(await p.page.evaluate(findWide)).toEqual([])
  }),
)
