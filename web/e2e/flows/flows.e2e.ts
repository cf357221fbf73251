// SPDX-License-Identifier: MIT
// Flows: made by mouse, by keys and by a document; run, broken, and run on from the step that failed.
import { afterAll, expect, test } from 'vitest'
import { addFlow, findFaults, focused, getFlow, looks, nameOf, step, tabTo } from './flows'
import { closeBrowser, doTask, type Person } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

async function chooseJob(p: Person, text: string): Promise<void> {
  const field = p.get('step-form').locator('[data-test="job-select"] input')
  await field.click()
  await field.fill(text)
  await p.page.getByRole('option', { name: text }).first().click()
}

test('a flow is made by mouse, and run', () =>
  doTask('make a flow by mouse', { user: 'admin' }, async (p) => {
    const name = nameOf('by-mouse')
    await p.go('/flows')
    await p.click(p.get('add-flow'))
    await p.get('flow-name').fill(name)
    await p.click(p.get('form-parameters'))
    await p.click(p.get('parameter-add'))
    await p.get('parameter-name').fill('region')
    await p.get('parameter-default').fill('cn')
    await p.click(p.get('add-first'))
    await p.see(step(p, 'step'))
    await chooseJob(p, 'nightly-close')
    await p.get('step-param').locator('textarea').or(p.get('step-param')).first().waitFor()
    await p.get('step-form').locator('textarea').first().fill('${flow.region}')
    await p.click(p.get('flow-handle').first())
    await p.see(step(p, 'step-2'))
    await chooseJob(p, 'nightly-close')
    await p.click(p.get('add-wait'))
    await p.get('step-seconds').fill('1')
    // Drawn with the mouse from the second step to the third.
    const from = (await p.page.locator('.node', { has: step(p, 'step-2') }).locator('[data-test="flow-handle"]').boundingBox())!
    const to = (await step(p, 'wait').boundingBox())!
    await p.page.mouse.move(from.x + from.width / 2, from.y + from.height / 2)
    await p.page.mouse.down()
    await p.page.mouse.move(to.x + 30, to.y + 20, { steps: 4 })
    await p.page.mouse.up()
    await expect.poll(() => p.get('flow-edge').count()).toBe(2)
    await p.see(p.get('flow-faults').getByText(p.w('flowEdit.fine')))
    await p.click(p.get('flow-save'))
    await p.see(p.page.getByRole('heading', { name }))
    const { document } = await getFlow(p, name)
    expect(document.steps.map((s) => s.name)).toEqual(['step', 'step-2', 'wait'])
    expect(document.edges).toEqual([{ from: 'step', to: 'step-2' }, { from: 'step-2', to: 'wait' }])
    await p.click(p.get('flow-run'))
    await p.get('param-region').fill('eu')
    await p.click(p.get('run-flow-go'))
    await p.see(p.get('flow-run-sentence').locator('[data-state="success"]'), 60_000)
    await p.click(step(p, 'step'))
    await p.see(p.get('step-given').filter({ hasText: 'eu' }))
  }))

test('a flow is made, run and answered by keys alone', { timeout: 120_000 }, () =>
  doTask('make a flow by keys', { user: 'admin' }, async (p) => {
    const name = nameOf('by-keys')
    const { keyboard } = p.page
    const formField = (what: string) => `[data-test="step-form"] ${what}`
    await p.go('/flows')
    await tabTo(p, '[data-test="add-flow"]')
    await keyboard.press('Enter')
    await tabTo(p, '[data-test="flow-name"]')
    await keyboard.type(name)
    await tabTo(p, '[data-test="add-wait"]', 'Shift+Tab')
    await keyboard.press('Enter')
    await expect.poll(() => focused(p)).toBe('wait')
    await keyboard.press('Enter')
    await expect.poll(() => p.get('step-name').evaluate((e) => e === document.activeElement)).toBe(true)
    await tabTo(p, formField('[data-test="step-seconds"]'))
    await keyboard.press('Control+a')
    await keyboard.type('1')
    await tabTo(p, '[data-step="wait"]', 'Shift+Tab')
    await keyboard.press('a')
    await expect.poll(() => focused(p)).toBe('step')
    await keyboard.press('a')
    await expect.poll(() => focused(p)).toBe('step-2')
    // The last one goes and comes back.
    await keyboard.press('Delete')
    await expect.poll(() => step(p, 'step-2').count()).toBe(0)
    await keyboard.press('Control+z')
    await p.see(step(p, 'step-2'))
    await tabTo(p, '[data-step="step"]')
    await keyboard.press('ArrowLeft')
    await expect.poll(() => focused(p)).toBe('wait')
    // From the first to the last one, besides the way over the second.
    await keyboard.press('c')
    await keyboard.press('ArrowRight')
    await keyboard.press('ArrowRight')
    await keyboard.press('Enter')
    await expect.poll(() => p.get('flow-edge').count()).toBe(3)
    await keyboard.press('Enter')
    await expect.poll(() => p.get('step-name').evaluate((e) => e === document.activeElement)).toBe(true)
    await keyboard.press('Control+a')
    await keyboard.type('last')
    await keyboard.press('Enter')
    await p.see(step(p, 'last'))
    for (const one of ['last', 'step']) {
      await tabTo(p, '[data-step][tabindex="0"]', 'Shift+Tab')
      if ((await focused(p)) !== one) await keyboard.press('ArrowLeft')
      await expect.poll(() => focused(p)).toBe(one)
      await keyboard.press('Enter')
      await expect.poll(() => p.get('step-name').inputValue()).toBe(one)
      await tabTo(p, formField('[data-test="step-type"]'))
      while ((await p.get('step-type').inputValue()) !== 'approval') await keyboard.press('ArrowDown')
      await tabTo(p, formField('textarea'))
      await keyboard.type('On?')
    }
    await p.see(p.get('flow-faults').getByText(p.w('flowEdit.fine')))
    await keyboard.press('Control+s')
    await p.see(p.page.getByRole('heading', { name }))
    const { document: saved } = await getFlow(p, name)
    expect(saved.steps.map((s) => [s.name, s.type])).toEqual([['wait', 'wait'], ['step', 'approval'], ['last', 'approval']])
    expect(saved.edges).toHaveLength(3)
    // Run, and answered.
    await keyboard.press('r')
    await p.see(p.get('run-flow-go'))
    await tabTo(p, '[data-test="run-flow-go"]')
    await keyboard.press('Enter')
    await p.see(p.get('flow-run-sentence'))
    for (const one of ['step', 'last']) {
      await p.see(step(p, one).and(p.page.locator('[data-state="running"]')), 60_000)
      await tabTo(p, '[data-step][tabindex="0"]')
      while ((await focused(p)) !== one) {
        const at = await focused(p)
        await keyboard.press('ArrowRight')
        await expect.poll(() => focused(p)).not.toBe(at)
      }
      await keyboard.press('Enter')
      await tabTo(p, '[data-test="step-approve"]')
      await keyboard.press('Enter')
      await keyboard.type('by keys')
      await tabTo(p, '[data-test="step-go"]')
      await keyboard.press('Enter')
    }
    await p.see(p.get('flow-run-sentence').locator('[data-state="success"]'), 60_000)
    expect(p.clicks).toBe(0)
  }))

test('a flow is made by one document, and says what is wrong at its place', () =>
  doTask('make a flow by a document', { user: 'admin' }, async (p) => {
    const name = nameOf('by-document')
    const document = (path: string) => ({
      name,
      steps: [
        { name: 'a', type: 'wait', seconds: 1 },
        { name: 'b', type: 'approval', text: `Go on at \${steps.${path}.endedAt}?` },
      ],
      edges: [{ from: 'a', to: 'b' }],
    })
    await p.go('/flows/new')
    await p.click(p.get('view-text'))
    const text = p.get('code-editor').locator('.cm-content')
    await text.click()
    await p.page.keyboard.press('Control+a')
    await p.page.keyboard.insertText('{"steps": ')
    await p.see(p.get('flow-text-wrong'))
    await p.page.keyboard.press('Control+a')
    await p.page.keyboard.insertText(JSON.stringify(document('c'), null, 2))
    await p.see(p.get('flow-fault').filter({ hasText: 'c' }))
    await p.see(text.locator('.cm-fault').first())
    // From the fault to the field that has it, in the form.
    await p.click(p.get('view-graph'))
    await p.click(p.get('flow-fault'))
    await p.get('step-form').locator('textarea').first().fill('Go on?')
    await p.see(p.get('flow-faults').getByText(p.w('flowEdit.fine')))
    await p.click(p.get('view-text'))
    await p.see(text.filter({ hasText: 'Go on?' }))
    await p.click(p.get('flow-save'))
    await p.see(p.page.getByRole('heading', { name }))
    // The second version, and what it has changed.
    await p.click(p.get('flow-edit'))
    await p.click(step(p, 'b'))
    await p.get('step-form').locator('textarea').first().fill('Really?')
    await p.click(p.get('flow-save'))
    await p.click(p.get('tab-versions'))
    await p.see(p.get('code-diff').filter({ hasText: 'Really?' }))
    // A run that waits for a person.
    await p.click(p.get('flow-run'))
    await p.click(p.get('run-flow-go'))
    await p.click(step(p, 'b'))
    await p.see(p.get('step-approve'), 30_000)
    await p.click(p.get('step-approve'))
    await p.get('step-remark').fill('fine')
    await p.click(p.get('step-go'))
    await p.see(p.get('flow-run-sentence').locator('[data-state="success"]'), 30_000)
  }))

test('a run breaks, and goes on from the step that failed', () =>
  doTask('a broken run goes on', { user: 'admin' }, async (p) => {
    const id = await addFlow(p, {
      name: nameOf('breaks'),
      steps: [
        { name: 'good', type: 'job', jobId: stage.jobs.stopped },
        { name: 'bad', type: 'job', jobId: stage.jobs.breaking },
        { name: 'then', type: 'job', jobId: stage.jobs.stopped },
      ],
      edges: [{ from: 'good', to: 'bad' }, { from: 'bad', to: 'then' }],
    })
    await p.go('/flows')
    await p.click(p.page.locator(`[data-test="flow-row"][data-id="${id}"] [data-test="flow-row-run"]`))
    await p.click(p.get('run-flow-go'))
    await p.see(p.get('flow-run-sentence').locator('[data-state="failed"]'), 60_000)
    await p.see(step(p, 'then').and(p.page.locator('[data-state="skipped"]')))
    await p.click(step(p, 'bad'))
    await expect.poll(() => p.get('step-panel').locator('h2').textContent()).toContain('bad')
    await p.click(p.get('step-log'))
    await p.see(p.get('log'))
    const log = () => p.get('step-panel').locator('a[href*="/runs/"]').first().getAttribute('href')
    const before = await log()
    await p.click(p.get('run-rerun'))
    await expect.poll(log, { timeout: 60_000 }).not.toBe(before)
    await p.see(p.get('flow-run-sentence').locator('[data-state="failed"]'), 60_000)
    await p.click(p.get('step-done'))
    await p.click(p.get('step-go'))
    await p.see(p.get('step-panel').getByText(p.w('editor.fault.required')))
    await p.get('step-remark').fill('done by hand')
    await p.click(p.get('step-go'))
    await p.see(p.get('flow-run-sentence').locator('[data-state="success"]'), 60_000)
    await p.see(p.get('step-panel').getByText('done by hand'))
    await p.go('/flows')
    await p.see(p.page.locator(`[data-test="flow-row"][data-id="${id}"] .ticks [data-state="success"]`))
  }))

test('a job is mended, and its run goes on from there with the results that were good', { timeout: 120_000 }, () =>
  doTask('a mended run goes on', { user: 'admin' }, async (p) => {
    const job = stage.jobs.mended
    const id = await addFlow(p, {
      name: nameOf('mended'),
      steps: [
        { name: 'good', type: 'job', jobId: stage.jobs.stopped },
        { name: 'bad', type: 'job', jobId: job },
        { name: 'then', type: 'job', jobId: stage.jobs.stopped },
      ],
      edges: [{ from: 'good', to: 'bad' }, { from: 'bad', to: 'then' }],
    })
    await p.go(`/flows/${id}`)
    await p.click(p.get('flow-run'))
    await p.click(p.get('run-flow-go'))
    await p.see(p.get('flow-run-sentence').locator('[data-state="failed"]'), 60_000)
    const logOf = async (name: string) => {
      await p.click(step(p, name))
      await expect.poll(() => p.get('step-panel').locator('h2').textContent()).toContain(name)
      return p.get('step-panel').locator('a[href*="/runs/"]').first().getAttribute('href')
    }
    const good = await logOf('good')
    const bad = await logOf('bad')
    const mend = await p.context.request.patch(`${p.url}/api/v1/jobs/${job}`, {
      data: { executorHandler: 'demoJobHandler' },
    })
    expect(mend.status(), await mend.text()).toBe(200)
    await p.click(p.get('run-rerun'))
    await p.see(p.get('flow-run-sentence').locator('[data-state="success"]'), 60_000)
    await p.see(step(p, 'then').and(p.page.locator('[data-state="success"]')))
    expect(await logOf('good')).toBe(good)
    const again = await logOf('bad')
    expect(again).not.toBe(bad)
    // From the job's run back to the run of the flow, at its step.
    await p.click(p.get('step-panel').locator(`a[href="${again}"]`))
    await p.see(p.get('run-sentence'))
    await p.see(p.get('run-flow').filter({ hasText: `${nameOf('mended')} · bad` }))
    await p.click(p.get('run-flow'))
    await p.see(p.get('flow-run-sentence'))
    await expect.poll(() => p.get('step-panel').locator('h2').textContent()).toContain('bad')
  }))

test.each(looks)('the pages of flows: $name', { timeout: 120_000 }, async (look) => {
  const paths = async (p: Person) => {
    const { id } = await getFlow(p, nameOf('breaks'))
    const runs = await p.context.request.get(`${p.url}/api/v1/flow-runs?flow=${id}`)
    const run = ((await runs.json()) as { items: { id: number }[] }).items[0]!.id
    return [
      '/flows',
      '/flows/new',
      `/flows/${id}`,
      `/flows/${id}/versions`,
      `/flows/${id}/edit`,
      `/flow-runs/${run}`,
      `/flow-runs/${run}?step=bad`,
      `/flows/new?ofJob=${stage.jobs.stopped}`, // the last one: it asks who leaves it
    ]
  }
  expect(await findFaults({ user: 'admin', ...look }, paths, 'bad')).toEqual([])
})
