// SPDX-License-Identifier: MIT
// The editor of flows: undo and redo, two who save one flow, and child jobs that become a flow.
import { afterAll, expect, test } from 'vitest'
import { addFlow, getFlow, nameOf, step } from './flows'
import { closeBrowser, doTask, Person } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

const waits = (name: string, ...more: string[]) => ({
  name,
  steps: ['a', 'b', ...more].map((one) => ({ name: one, type: 'wait', seconds: 1 })),
  edges: [{ from: 'a', to: 'b' }],
})
const words = async (p: Person) => (await p.get('code-editor').locator('.cm-content').textContent()) ?? ''

test('each change is taken back and made again, in all views', () =>
  doTask('undo and redo in a flow', { user: 'admin' }, async (p) => {
    const id = await addFlow(p, waits(nameOf('undone')))
    await p.go(`/flows/${id}/edit`)
    await p.click(step(p, 'b'))
    await p.get('step-seconds').fill('77')
    await p.click(p.get('add-wait'))
    await p.see(step(p, 'wait'))
    await p.click(p.get('view-text'))
    await expect.poll(() => words(p)).toContain('77')
    await p.click(p.get('flow-undo'))
    await expect.poll(() => words(p)).not.toContain('"wait", "type"')
    await p.click(p.get('flow-undo'))
    await expect.poll(() => words(p)).not.toContain('77')
    await expect.poll(() => p.get('flow-undo').isDisabled()).toBe(true)
    await p.click(p.get('view-graph'))
    expect(await step(p, 'wait').count()).toBe(0)
    await p.click(p.get('flow-redo'))
    await p.click(p.get('flow-redo'))
    await p.see(step(p, 'wait'))
    await expect.poll(() => p.get('flow-redo').isDisabled()).toBe(true)
    await p.click(step(p, 'b'))
    await expect.poll(() => p.get('step-seconds').inputValue()).toBe('77')
    await p.click(p.get('flow-save'))
    await p.see(p.page.getByRole('heading', { name: nameOf('undone') }))
    expect((await getFlow(p, nameOf('undone'))).document.steps.map((s) => s.name)).toEqual(['a', 'b', 'wait'])
  }))

test('what is typed stays while the flow is checked', () =>
  doTask('a name is typed while the server answers', { user: 'admin' }, async (p) => {
    const id = await addFlow(p, waits(nameOf('typed')))
    await p.go(`/flows/${id}/edit`)
    await p.click(p.get('form-parameters'))
    // The answer comes when the name is typed, and before it counts.
    let typed = () => {}
    const isTyped = new Promise<void>((resolve) => (typed = resolve))
    await p.page.route('**/api/v1/flows/validate', async (route) => {
      await isTyped
      await route.continue()
    })
    const answered = p.page.waitForResponse((r) => r.url().endsWith('/api/v1/flows/validate'))
    await p.click(p.get('parameter-add'))
    await p.get('parameter-name').fill('not a name')
    typed()
    await answered
    await p.page.unroute('**/api/v1/flows/validate')
    await p.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    expect(await p.get('parameter-name').inputValue()).toBe('not a name')
    await p.get('parameter-name').fill('region')
    await p.get('parameter-default').fill('cn')
    await p.click(p.get('flow-save'))
    await p.see(p.page.getByRole('heading', { name: nameOf('typed') }))
    expect((await getFlow(p, nameOf('typed'))).document.parameters).toEqual([{ name: 'region', default: 'cn' }])
  }))

/** Somebody has the flow open and has changed it; another one saves first. */
async function beOvertaken(p: Person, name: string): Promise<number> {
  const id = await addFlow(p, waits(name))
  await p.go(`/flows/${id}/edit`)
  await p.click(step(p, 'b'))
  await p.get('step-seconds').fill('77')
  const data = { version: 1, document: waits(name, 'theirs') }
  const answer = await p.context.request.put(`${p.url}/api/v1/flows/${id}`, { data })
  expect(answer.status(), await answer.text()).toBe(200)
  await p.click(p.get('flow-save'))
  await p.see(p.get('flow-newer').getByText(p.w('flowEdit.newer', { version: 2 })))
  const diff = p.get('flow-newer').locator('[data-test="code-diff"]')
  await p.see(diff.filter({ hasText: 'theirs' }))
  await p.see(diff.filter({ hasText: '77' }))
  return id
}

test('somebody else has saved the flow: mine is kept', () =>
  doTask('keep my flow', { user: 'admin' }, async (p) => {
    const name = nameOf('kept')
    await beOvertaken(p, name)
    await p.click(p.get('flow-keep'))
    await expect.poll(() => p.get('flow-newer').count()).toBe(0)
    expect((await getFlow(p, name)).version).toBe(2)
    await p.click(p.get('flow-save'))
    await p.see(p.page.getByRole('heading', { name }))
    const now = await getFlow(p, name)
    expect([now.version, now.document.steps.length, JSON.stringify(now.document).includes('77')]).toEqual([3, 2, true])
  }))

test('somebody else has saved the flow: theirs is taken', () =>
  doTask('take their flow', { user: 'admin' }, async (p) => {
    const name = nameOf('taken')
    const id = await beOvertaken(p, name)
    await p.click(p.get('flow-take'))
    await p.see(step(p, 'theirs'))
    expect(await p.page.getByText(p.w('flowEdit.unsaved'), { exact: true }).count()).toBe(0)
    await p.click(step(p, 'b'))
    await expect.poll(() => p.get('step-seconds').inputValue()).toBe('1')
    await p.get('step-seconds').fill('5')
    await p.click(p.get('flow-save'))
    await p.see(p.page.getByRole('heading', { name }))
    const now = await getFlow(p, name)
    expect([now.id, now.version, now.document.steps.map((s) => s.name)]).toEqual([id, 3, ['a', 'b', 'theirs']])
  }))

test('child jobs become a flow', () =>
  doTask('turn child jobs into a flow', { user: 'admin' }, async (p) => {
    const parent = stage.jobs.parent!
    const child = stage.jobs.child!
    const name = 'count-orders'
    await p.go(`/jobs/${child}/children`)
    await p.see(p.get('family'))
    expect(await p.get('to-flow').count()).toBe(0) // nothing follows it
    await p.go(`/jobs/${parent}/children`)
    await p.click(p.get('to-flow'))
    await p.see(p.get('flow-of-children').getByText(p.w('flowEdit.ofChildren', { id: parent })))
    await expect.poll(() => words(p)).toContain(`"jobId": ${child}`)
    const found = await p.context.request.get(`${p.url}/api/v1/flows?name=${name}`)
    expect(((await found.json()) as { items: unknown[] }).items).toEqual([])
    await p.see(p.get('flow-faults').getByText(p.w('flowEdit.fine')))
    await p.click(p.get('view-graph'))
    await p.see(step(p, name))
    await p.click(p.get('flow-save'))
    await p.see(p.page.getByRole('heading', { name }))
    const { document } = await getFlow(p, name)
    expect(document.steps.map((s) => s.jobId)).toEqual([parent, child])
    expect(document.edges).toEqual([{ from: name, to: 'close-books' }])
    // Jobs that are no flow: why not.
    const circle = { childJobId: String(parent) }
    const broken = await p.context.request.patch(`${p.url}/api/v1/jobs/${child}`, { data: circle })
    expect(broken.status(), await broken.text()).toBe(200)
    await p.go(`/flows/new?ofJob=${parent}`)
    await p.see(p.page.getByText('circle'))
  }))
