// SPDX-License-Identifier: MIT
import { afterAll, expect, test } from 'vitest'
import { closeBrowser, doTask } from '../person'
import { stage } from '../stage'

afterAll(closeBrowser)

test('add an executor group by hand', () =>
  doTask('add an executor group by hand', { user: 'admin' }, async (p) => {
    await p.go('/executors')
    await p.click(p.get('add-group'))
    await p.get('group-appname').fill('by-hand')
    await p.get('group-title').fill('By hand')
    await p.click(p.get('group-manual'))
    await p.get('group-addresses').fill('http://127.0.0.1:9999/')
    await p.click(p.get('group-save'))
    await p.see(p.get('group-row').filter({ hasText: 'by-hand' }))
  }))

test('drain a node and take it back', () =>
  doTask('drain a node', { user: 'admin' }, async (p) => {
    const node = p.page.locator('[data-test="node-row"][data-node="node-b"]')
    await p.go('/cluster')
    await p.click(node.locator('[data-test="node-drain"]'))
    await p.click(p.get('drain-go'))
    const owned = async (): Promise<number> => {
      const answer = await p.context.request.get(`${p.url}/api/v1/nodes`)
      const { items } = (await answer.json()) as { items: { node: string; owned: number }[] }
      return items.find((n) => n.node === 'node-b')!.owned
    }
    await expect.poll(owned, { timeout: 30_000 }).toBe(0)
    const clicks = p.clicks
    await p.click(node.locator('[data-test="node-undrain"]'))
    await expect.poll(owned, { timeout: 30_000 }).toBeGreaterThan(0)
    p.clicks = clicks
  }))

test('edit GLUE and go back a version', () =>
  doTask('edit GLUE and go back a version', { user: 'admin' }, async (p) => {
    const id = stage.jobs.glue!
    const source = async (): Promise<string> => {
      const answer = await p.context.request.get(`${p.url}/api/v1/jobs/${id}/glue`)
      return ((await answer.json()) as { glueSource: string }).glueSource
    }
    await p.go(`/jobs/${id}/glue`)
    for (const [text, remark] of [['echo two', 'second version'], ['echo three', 'third version']] as const) {
      await p.click(p.get('code-editor').locator('.cm-content'))
      await p.page.keyboard.press('Control+A')
      await p.page.keyboard.type(text)
      await p.click(p.get('glue-save'))
      await p.get('glue-remark').fill(remark)
      await p.click(p.get('glue-save-go'))
      await expect.poll(source).toBe(text)
      await p.see(p.get('glue-version').filter({ hasText: remark }))
    }
    await p.click(p.get('glue-version').filter({ hasText: 'second version' }))
    await p.click(p.get('glue-restore'))
    await p.see(p.get('code-editor').locator('.cm-content').filter({ hasText: 'echo two' }))
    await p.click(p.get('glue-save'))
    await p.get('glue-remark').fill('back to the second')
    await p.click(p.get('glue-save-go'))
    await expect.poll(source).toBe('echo two')
  }))
