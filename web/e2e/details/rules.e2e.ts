// SPDX-License-Identifier: MIT
// Rules of alarms on what did not happen: added, refused, changed, removed; only looked at by who is no administrator.
import { afterAll, expect, test } from 'vitest'
import { findViolations, findWide, settle } from '../look'
import { closeBrowser, doTask, type Person } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

interface Rule {
  id: number
  kind: string
  tag: string | null
  group: string | null
  limit: number | null
  doneBy: string | null
}

async function rules(p: Person): Promise<Rule[]> {
  const answer = await p.context.request.get(`${p.url}/api/v1/alarms/rules`)
  return ((await answer.json()) as { items: Rule[] }).items
}

async function choose(p: Person, field: string, option: string): Promise<void> {
  await p.click(p.get(field))
  await p.click(p.page.getByRole('option', { name: option }))
}

test.each(['light', 'dark'] as const)('a rule is added, changed and removed: %s', (theme) =>
  doTask(`rules of alarms (${theme})`, { user: 'admin', theme }, async (p) => {
    const tag = `made-${p.language}-${theme}`
    await p.go('/alarms')
    await settle(p)
    await p.click(p.get('rule-add'))
    await choose(p, 'rule-kind', p.w('alarms.event.no_success'))
    await p.get('rule-limit').fill('soon')
    await p.click(p.get('rule-save'))
    await p.see(p.page.getByText(p.w('alarms.watch.need.limit')))
    expect(await findViolations(p)).toEqual([])
    expect((await rules(p)).filter((rule) => rule.tag === tag)).toEqual([])
    await p.get('rule-limit').fill('7200')
    await p.get('rule-tag').fill(tag)
    await choose(p, 'rule-group', stage.group.appname)
    await p.click(p.get('rule-save'))
    const mine = p.get('alarm-rule').filter({ hasText: tag })
    await p.see(mine.getByText(p.w('alarms.event.no_success')))
    expect(await rules(p)).toMatchObject([{ kind: 'no_success', tag, group: stage.group.appname, limit: 7200 }])
    // The same once more is refused, and said where it was asked.
    await p.click(p.get('rule-add'))
    await p.get('rule-limit').fill('1')
    await p.get('rule-tag').fill(tag)
    await choose(p, 'rule-group', stage.group.appname)
    await p.click(p.get('rule-save'))
    await p.see(p.page.locator('#rule-form [role=alert]'))
    await p.press('Escape')
    await p.click(p.button(p.w('common.leave')))
    await p.click(mine.locator('[data-test="rule-edit"]'))
    expect(await p.get('rule-limit').inputValue()).toBe('7200')
    await p.get('rule-limit').fill('3600')
    await p.click(p.get('rule-save'))
    await expect.poll(async () => (await rules(p)).map((rule) => rule.limit)).toEqual([3600])
    expect(await findViolations(p)).toEqual([])
    expect(await p.page.evaluate(findWide)).toEqual([])
    await p.click(mine.locator('[data-test="rule-remove"]'))
    await p.click(p.page.locator('.el-message-box .el-button--primary'))
    await expect.poll(() => mine.count()).toBe(0)
    expect(await rules(p)).toEqual([])
  }),
)

test('a time of day is asked for where the rule needs one', () =>
  doTask('a rule with a time of day', { user: 'admin', width: 390, height: 844 }, async (p) => {
    await p.go('/alarms')
    await settle(p)
    await p.click(p.get('rule-add'))
    await choose(p, 'rule-kind', p.w('alarms.event.not_done'))
    await p.get('rule-done-by').fill('25:00')
    await p.click(p.get('rule-save'))
    await p.see(p.page.getByText(p.w('alarms.watch.need.doneBy')))
    await p.get('rule-done-by').fill('06:30')
    await p.click(p.get('rule-save'))
    await p.see(p.get('alarm-rule').getByText(p.w('alarms.watch.by', { time: '06:30' })))
    expect(await p.page.evaluate(findWide)).toEqual([])
    const [made] = await rules(p)
    expect(made).toMatchObject({ kind: 'not_done', doneBy: '06:30' })
    expect((await p.context.request.delete(`${p.url}/api/v1/alarms/rules/${made!.id}`)).ok()).toBe(true)
  }))

test('who is no administrator sees the rules and no buttons', () =>
  doTask('rules as a reader', { user: 'reader' }, async (p) => {
    await p.go('/alarms')
    await settle(p)
    await p.see(p.page.getByRole('heading', { name: p.w('alarms.watch.rules') }))
    expect(await p.get('rule-add').count()).toBe(0)
  }))
